"""The closing sentence of a task: short, and with something that was really found."""
from __future__ import annotations

import random
import re
from collections.abc import Sequence

from data_synthesis.paths import get
from data_synthesis.search import Chain
from environment.core.calls import JsonValue
from environment.session.observation import Clipped, LeftOut

MAX_WORDS = 15
"""Longest answer."""
FALLBACK = "Here is what you asked for."
"""Said where no sentence of the template can be filled from what the model saw."""
_SLOT = re.compile(r"\{([^{}]+)\}")


def answer(chain: Chain, rng: random.Random) -> str:
    """Return the closing sentence of a chain; its values come from what the model saw of the last step."""
    return fill(chain.pattern.steps[-1].answer, chain.entries[-1].seen, rng)


def fill(sentences: Sequence[str], seen: JsonValue, rng: random.Random) -> str:
    """Return one of the sentences that `seen` can fill within `MAX_WORDS`, or `FALLBACK`."""
    filled = [
        text for text in (_fill(sentence, seen) for sentence in sentences) if text and len(text.split()) <= MAX_WORDS
    ]
    return rng.choice(filled) if filled else FALLBACK


def _fill(sentence: str, seen: JsonValue) -> str | None:
    values = {path: get(seen, path) for path in _SLOT.findall(sentence)}
    if any(not isinstance(v, str | int | float) or isinstance(v, Clipped | LeftOut | bool) for v in values.values()):
        return None
    return _SLOT.sub(lambda m: str(values[m[1]]), sentence)
