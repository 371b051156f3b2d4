"""What is right after each turn of a row: the observations of its gold calls and the public state they leave.

Both come from running the gold calls once, in a world of their own. They are kept for as long as the row is, since
every rollout of the row is compared with the same ones: at most one `Gold` a row, so memory has a bound.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from BFCL.data.rows import MultiTurnRow
from BFCL.execute.world import World, packed

State = Mapping[str, Mapping[str, Any]]
"""Class → public attributes."""


@dataclass(frozen=True, slots=True)
class GoldTurn:
    """What is right after one turn."""

    observations: Counter[str]
    """What the turn's gold calls returned, each as often as it did."""
    state: State


@dataclass(frozen=True, slots=True)
class Gold:
    """A row's right side."""

    turns: tuple[GoldTurn | None, ...]
    """None for a turn without gold calls, which is not judged."""
    config: bytes
    """The row's starting state, packed once for all rollouts."""


def gold_of(row: MultiTurnRow) -> Gold:
    """Return the right side of a row; the first time its gold calls are run."""
    found = _KEPT.get(row)
    if found is None:
        found = _KEPT[row] = _run(row)
    return found


def _run(row: MultiTurnRow) -> Gold:
    config = packed(row.config)
    world = World(row.classes, config, long_context=row.long_context)
    turns: list[GoldTurn | None] = []
    before: State = {}
    for calls in row.gold:
        observations = Counter(world.run(calls))
        if not calls:
            turns.append(None)
            continue
        state = world.state()
        before = before if before == state else deepcopy(state)
        turns.append(GoldTurn(observations, before))
    return Gold(tuple(turns), config)


_KEPT: WeakKeyDictionary[MultiTurnRow, Gold] = WeakKeyDictionary()
