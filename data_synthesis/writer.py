"""The offline query writer: a chain in, a request in a person's words out.

It says every value the user has to supply, the rule behind every pick, and nothing of how the answer is found.
A pattern with sentences of its own is said by one of them; for any other the request is put together from its steps
(`compose`). One query keeps one tone and one way of writing dates. The same chain and the same `Random` give the same
text.
"""
from __future__ import annotations

import random

from data_synthesis.compose import compose
from data_synthesis.grammar import expand
from data_synthesis.search import Chain
from data_synthesis.speaker import CHOICE_WORDS, Speaker, WriterConfig, date_style

__all__ = ["CHOICE_WORDS", "TONES", "WriterConfig", "write"]

TONES = ("plain", "formal", "casual")
"""Tones a query may keep; phrases may say it differently in each, as `hello.casual`."""


def write(chain: Chain, rng: random.Random, config: WriterConfig | None = None) -> str:
    """Return a request for the chain."""
    config = config or WriterConfig()
    style = date_style(rng, config)
    pattern = chain.pattern
    if not pattern.say:
        return compose(chain, rng, config, style, rng.choice(TONES))
    speaker = Speaker(chain.values, pattern.kinds, chain.picks, rng, config, style)
    sentence = rng.choice(pattern.say)
    return expand(sentence, pattern.phrases, rng.choice(TONES), rng, speaker.say)
