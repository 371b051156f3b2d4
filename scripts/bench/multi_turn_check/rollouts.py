"""What both checkers judge: every row's gold, and ten ways to change it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from BFCL.data.categories import MULTI_TURN
from BFCL.data.rows import MultiTurnRow, multi_turn_rows

Turns = list[list[list[str]]]


@dataclass(frozen=True)
class Rollout:
    """One rollout of one row."""

    row: MultiTurnRow
    kind: str
    turns: Turns


def gold_rollouts(limit: int | None = None) -> list[Rollout]:
    """Return every row's gold, one step a turn."""
    rows = [row for category in MULTI_TURN for row in multi_turn_rows(category)[:limit]]
    return [Rollout(row, "gold", gold_turns(row)) for row in rows]


def changed_rollouts(seed: int = 0, limit: int | None = None) -> list[Rollout]:
    """Return ten changed rollouts of every row; a change that doesn't fit a row is left out."""
    rng = random.Random(seed)
    made = [
        Rollout(gold.row, kind, turns)
        for gold in gold_rollouts(limit)
        for kind, change in CHANGES.items()
        if (turns := change(gold_turns(gold.row), rng)) is not None
    ]
    return made


def gold_turns(row: MultiTurnRow) -> Turns:
    """Return a row's gold calls as a model would have made them."""
    return [[list(calls)] if calls else [] for calls in row.gold]


def _drop_call(turns: Turns, rng: random.Random) -> Turns:
    rng.choice(_busy(turns)).pop(0)
    return turns


def _repeat_call(turns: Turns, rng: random.Random) -> Turns:
    calls = rng.choice(_busy(turns))
    calls.append(rng.choice(calls))
    return turns


def _swap(turns: Turns, rng: random.Random) -> Turns | None:
    long = [calls for calls in _busy(turns) if len(calls) > 1]
    if not long:
        return None
    rng.choice(long).reverse()
    return turns


def _empty_turn(turns: Turns, rng: random.Random) -> Turns:
    rng.choice([turn for turn in turns if turn]).clear()
    return turns


def _fewer_turns(turns: Turns, rng: random.Random) -> Turns:
    del turns[rng.randrange(len(turns)) :]
    return turns


def _other_turn(turns: Turns, rng: random.Random) -> Turns:
    calls = rng.choice(_busy(turns))
    rng.choice(turns).append([calls[-1]])
    return turns


def _wrong_argument(turns: Turns, rng: random.Random) -> Turns | None:
    quoted = [calls for calls in _busy(turns) if "'" in calls[0]]
    if not quoted:
        return None
    calls = rng.choice(quoted)
    calls[0] = calls[0].replace("'", "'x", 1)
    return turns


def _unknown_function(turns: Turns, rng: random.Random) -> Turns:
    rng.choice(_busy(turns)).append("no_such_function(a=1)")
    return turns


def _broken_call(turns: Turns, rng: random.Random) -> Turns:
    rng.choice(_busy(turns)).append("ls(")
    return turns


def _one_a_step(turns: Turns, _: random.Random) -> Turns:
    return [[[call] for step in turn for call in step] for turn in turns]


def _busy(turns: Turns) -> list[list[str]]:
    return [step for turn in turns for step in turn if step]


CHANGES: Mapping[str, Callable[[Turns, random.Random], Turns | None]] = {
    "drop_call": _drop_call,
    "repeat_call": _repeat_call,
    "swap": _swap,
    "empty_turn": _empty_turn,
    "fewer_turns": _fewer_turns,
    "other_turn": _other_turn,
    "wrong_argument": _wrong_argument,
    "unknown_function": _unknown_function,
    "broken_call": _broken_call,
    "one_call_a_step": _one_a_step,
}
