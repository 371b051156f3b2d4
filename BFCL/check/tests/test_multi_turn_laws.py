"""Laws of the multi-turn rules over the leaderboard's rows: what must never change a verdict, and what must."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from BFCL.check.multi_turn.check import CUT_OFF, NO_CALLS, check
from BFCL.check.multi_turn.gold import gold_of
from BFCL.data.categories import MULTI_TURN
from BFCL.data.rows import MultiTurnRow, multi_turn_rows
from BFCL.data.tests.needs import needs_package
from BFCL.execute.world import World

pytestmark = needs_package

Turns = list[list[list[str]]]


def rows(count: int, seed: int) -> list[MultiTurnRow]:
    rng = random.Random(seed)
    return [row for category in MULTI_TURN for row in rng.sample(multi_turn_rows(category), count)]


def spoiled(row: MultiTurnRow, rng: random.Random) -> Turns:
    """Gold with some calls dropped, said twice or moved to another turn."""
    turns = [[list(calls)] for calls in row.gold]
    for _ in range(rng.randint(0, 3)):
        step = rng.choice(rng.choice(turns))
        if step:
            call = step.pop(rng.randrange(len(step)))
            if rng.random() < 0.6:
                rng.choice(turns)[0].insert(0, call)
    return turns


def one_call_a_step(turns: Turns) -> Turns:
    return [[[call] for step in turn for call in step] for turn in turns]


def empty_steps_between(turns: Turns) -> Turns:
    return [[each for step in turn for each in ([], step, [""])] for turn in turns]


def respaced(turns: Turns) -> Turns:
    return [[[call.replace("(", " ( ", 1) for call in step] for step in turn] for turn in turns]


@pytest.mark.parametrize("change", [one_call_a_step, empty_steps_between, respaced])
def test_how_calls_are_grouped_and_spaced_decides_nothing(change: Callable[[Turns], Turns]) -> None:
    rng = random.Random(11)
    verdicts = set[bool]()
    for row in rows(12, seed=1):
        turns = spoiled(row, rng)
        found = check(row, turns)
        assert check(row, change(turns)) == found, row.id
        verdicts.add(found.valid)
    assert verdicts == {True, False}


def test_unreadable_and_unknown_calls_are_free() -> None:
    rng = random.Random(12)
    for row in rows(12, seed=2):
        turns = spoiled(row, rng)
        noisy = [[*turn, ["no_such_function(a=1)", "ls(", "x = 1"]] if any(turn[0]) else turn for turn in turns]
        assert check(row, noisy) == check(row, turns), row.id


def test_the_first_wrong_turn_is_told_and_what_follows_decides_nothing() -> None:
    rng = random.Random(13)
    told = 0
    for row in rows(25, seed=3):
        turns = spoiled(row, rng)
        found = check(row, turns)
        if found.turn is not None:
            told += 1
            rest = [[["no_such_function()"]] for _ in turns[found.turn + 1 :]]
            assert check(row, [*turns[: found.turn + 1], *rest]) == found, row.id
    assert told > 10


def test_a_turn_without_a_call_is_wrong_where_gold_has_one() -> None:
    for row in rows(10, seed=4):
        at = next(number for number, calls in enumerate(row.gold) if calls)
        turns: Turns = [[list(calls)] for calls in row.gold]
        turns[at] = []
        found = check(row, turns)
        assert (found.error_type, found.turn) == (NO_CALLS, at)


@pytest.mark.parametrize("extra", [-1, 1])
def test_another_number_of_turns_is_cut_off(extra: int) -> None:
    for row in rows(5, seed=5):
        turns: Turns = [[list(calls)] for calls in row.gold]
        assert check(row, turns[:-1] if extra < 0 else [*turns, []]).error_type == CUT_OFF


def test_gold_is_kept_once_a_row_and_is_never_changed_by_a_rollout() -> None:
    rng = random.Random(14)
    for row in rows(6, seed=6):
        gold = gold_of(row)
        before = [repr(turn.state) if turn else "" for turn in gold.turns]
        for _ in range(4):
            check(row, spoiled(row, rng))
        assert gold_of(row) is gold
        assert [repr(turn.state) if turn else "" for turn in gold.turns] == before


def test_observations_are_the_same_in_every_world_of_a_row() -> None:
    for row in rows(10, seed=7):
        calls = [call for turn in row.gold for call in turn]
        first, second = (World(row.classes, row.config, long_context=row.long_context) for _ in range(2))
        assert [(first.call(call), second.call(call)) for call in calls] == [
            (seen, seen) for seen in World(row.classes, row.config, long_context=row.long_context).run(calls)
        ]
