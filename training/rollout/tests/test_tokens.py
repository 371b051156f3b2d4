"""The token record of an episode: what was sampled is what is trained, and budgets hold."""
from __future__ import annotations

import asyncio

from training.rollout.seeds import rollout_seed
from training.rollout.tokens import Generated, TokenPolicy


class Script:
    """An engine of words: a token is a character code; turns come from a list."""

    def __init__(self, turns):
        self.turns = list(turns)
        self.asked = []

    async def opening(self, messages, tools):
        return [ord(c) for c in "".join(m["content"] for m in messages)]

    async def appended(self, known, new, tokens, tools):
        return [ord(c) for c in "|" + "".join(m["content"] for m in new)]

    async def generate(self, tokens, max_tokens):
        self.asked.append((list(tokens), max_tokens))
        text = self.turns.pop(0)
        ids = [ord(c) for c in text][:max_tokens]
        return Generated(ids, [-0.5] * len(ids), len(text) <= max_tokens)

    def text(self, token_ids):
        return "".join(map(chr, token_ids))


def play(policy, *batches):
    async def go():
        return [await policy.act([{"role": "tool", "content": text}]) for text in batches]

    return asyncio.run(go())


def test_mask_and_spans_cover_what_the_model_wrote():
    engine = Script(["ab", "cde"])
    policy = TokenPolicy(engine, [], response_tokens=50, turn_tokens=20)
    play(policy, "prompt", "XY")
    assert "".join(map(chr, policy.response)) == "ab|XYcde"
    assert policy.mask == [1, 1, 0, 0, 0, 1, 1, 1]
    assert policy.log_probs == [-0.5, -0.5, 0, 0, 0, -0.5, -0.5, -0.5]
    assert [(s.turn, s.start, s.end) for s in policy.spans] == [(0, 0, 2), (1, 5, 8)]


def test_the_engine_sees_exactly_the_tokens_so_far():
    engine = Script(["ab", "c"])
    policy = TokenPolicy(engine, [], 50, 20)
    play(policy, "p", "X")
    assert engine.asked[1][0] == policy.prompt + policy.response[:-1]


def test_a_turn_longer_than_its_limit_is_truncated():
    policy = TokenPolicy(Script(["abcdef"]), [], 50, 4)
    assert play(policy, "p")[0].truncated


def test_the_response_never_exceeds_its_budget():
    policy = TokenPolicy(Script(["abc", "never"]), [], 6, 20)
    turns = play(policy, "p", "a long observation")
    assert turns[1].truncated and turns[1].text == ""
    assert len(policy.response) == len(policy.mask) == len(policy.log_probs or []) == 6


def test_seeds_differ_by_every_part_of_the_address():
    seeds = {rollout_seed(r, s, t, n) for r in (1, 2) for s in (0, 1) for t in ("a", "b") for n in range(8)}
    assert len(seeds) == 64 and all(0 <= s < 2**31 for s in seeds)
    assert rollout_seed(1, 2, "a", 3) == rollout_seed(1, 2, "a", 3)
