"""The baseline of the synthesis bench: it samples without constraints, and what it gives is judged like ours."""
from __future__ import annotations

import random

from data_synthesis.search import Chain, draw
from data_synthesis.tests.test_search import FIND, LIST, find, pattern, tiny
from environment.core.canonical import fold_text
from scripts.bench.synth.blind import attempt, consistent

DAY = "2026-05-01"


def test_it_follows_edges_and_meets_gaps() -> None:
    index = tiny(
        Find=[find(f"C{n}", n) for n in range(10)], List=[({"id": n, "day": DAY}, {"data": [1]}) for n in (3, 4)]
    )
    tried = [attempt(pattern(FIND, LIST), index, random.Random(seed)) for seed in range(300)]
    reached = [entries for entries in tried if entries is not None]
    assert 0.1 < len(reached) / len(tried) < 0.35  # two of ten look-ups lead on
    assert {entries[0].arguments["query"] for entries in reached} == {"C3", "C4"}
    assert all(isinstance(draw(pattern(FIND, LIST), index, random.Random(seed)), Chain) for seed in range(20))


def test_a_chain_with_two_values_of_one_variable_is_not_consistent() -> None:
    again = type(LIST)("again", "List", {**LIST.give})
    index = tiny(Find=[find("Oslo", 1)], List=[({"id": 1, "day": f"2026-05-0{d}"}, {"data": [1]}) for d in (1, 2)])
    asked = pattern(FIND, LIST, again)
    judged = set()
    for seed in range(40):
        entries = attempt(asked, index, random.Random(seed))
        assert entries is not None
        same = entries[1].arguments["day"] == entries[2].arguments["day"]
        assert consistent(asked, entries, fold_text) == same
        judged.add(same)
    assert judged == {True, False}
