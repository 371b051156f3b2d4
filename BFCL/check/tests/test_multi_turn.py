"""Conversations: what makes a turn right, that rollouts share nothing, and files of rows."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.multi_turn.check import CUT_OFF, NO_CALLS, NOT_LOOKED_UP, OTHER_STATE, TurnVerdict, check
from BFCL.check.multi_turn.differences import DIFFERENCES
from BFCL.check.multi_turn.rows import RowVerdict, judge_lines, judge_row
from BFCL.data.categories import MULTI_TURN
from BFCL.data.rows import MultiTurnRow, multi_turn_rows
from BFCL.data.tests.needs import needs_package
from BFCL.execute.tests.moves import copies_of_copies
from environment.core.errors import DataError

pytestmark = needs_package

FILES: dict[str, Any] = {
    "root": {
        "home": {
            "type": "directory",
            "contents": {
                "a.txt": {"type": "file", "content": "one"},
                "sub": {"type": "directory", "contents": {"b.txt": {"type": "file", "content": "two"}}},
            },
        }
    }
}
ROW = MultiTurnRow(
    id="multi_turn_base_x",
    category="multi_turn_base",
    turns=((), (), ()),
    gold=(("cat('a.txt')",), (), ("mkdir('new')", "ls()")),
    classes=("GorillaFileSystem", "MathAPI"),
    config={"GorillaFileSystem": FILES},
)


def steps(*turns: Sequence[str]) -> list[list[list[str]]]:
    return [[list(turn)] for turn in turns]


@pytest.mark.parametrize(
    ("turns", "error", "turn"),
    [
        (steps(["cat('a.txt')"], [], ["mkdir('new')", "ls()"]), "", None),
        (steps(["cat(file_name='a.txt')"], [], ["mkdir(dir_name='new')", "ls(a=False)"]), "", None),
        # Calls without effect are free, errors too.
        (steps(["ls()", "cat('a.txt')", "nonsense(", "mkdir('a.txt')"], [], ["mkdir('new')", "ls()"]), "", None),
        # What was looked up before need not be looked up again.
        (steps(["cat('a.txt')", "pwd()"], ["mkdir('new')", "ls()"], ["pwd()"]), "", None),
        # A turn without gold calls is not judged; what was done there shows at the next that is.
        (steps(["cat('a.txt')"], ["touch('c.txt')"], ["mkdir('new')", "ls()"]), OTHER_STATE, 2),
        (steps(["cat('a.txt')"], ["touch('c.txt')", "rm('c.txt')"], ["mkdir('new')", "ls()"]), "", None),
        (steps(["pwd()"], [], ["mkdir('new')", "ls()"]), NOT_LOOKED_UP, 0),
        (steps(["cat('a.txt')", "touch('c.txt')"], [], ["mkdir('new')", "ls()"]), OTHER_STATE, 0),
        (steps(["cat('a.txt')"], [], ["ls()"]), OTHER_STATE, 2),
        (steps([], [], ["mkdir('new')", "ls()"]), NO_CALLS, 0),
        ([[[], [""]], [], [["mkdir('new')"], ["ls()"]]], NO_CALLS, 0),
        ([], CUT_OFF, None),
        (steps(["cat('a.txt')"], []), CUT_OFF, None),
        (steps(["cat('a.txt')"], [], ["mkdir('new')", "ls()"], []), CUT_OFF, None),
    ],
)
def test_what_makes_a_turn_right(turns: Any, error: str, turn: int | None) -> None:
    assert check(ROW, turns) == TurnVerdict(error, turn)


def test_a_gold_observation_is_wanted_as_often_as_it_came() -> None:
    row = MultiTurnRow("x", "multi_turn_base", ((),), (("pwd()", "pwd()"),), ROW.classes, ROW.config)
    assert check(row, steps(["pwd()"])).error_type == NOT_LOOKED_UP
    assert check(row, steps(["pwd()", "ls()", "pwd()"])).valid


def test_a_text_with_parentheses_has_the_same_content_on_both_sides() -> None:
    gold = ("echo(content='then call ls() and cd(x)', file_name='a.txt')",)
    row = MultiTurnRow("x", "multi_turn_base", ((),), (gold,), ROW.classes, ROW.config)
    assert check(row, steps(gold)).valid


@pytest.mark.parametrize("turns", [["cp('sub', 'sub')"], ["cp('sub', 'sub')", "find()"], ["mv('sub', 'sub')", "du()"]])
def test_a_folder_inside_itself_is_a_wrong_state_and_no_traceback(turns: list[str]) -> None:
    assert check(ROW, steps([*turns, "cat('a.txt')"], [], ["ls()"])).error_type == OTHER_STATE


def test_a_state_that_takes_for_ever_to_compare_is_wrong() -> None:
    row = MultiTurnRow("x", "multi_turn_base", ((),), (tuple(copies_of_copies(60)),), ROW.classes, ROW.config)
    assert check(row, steps(copies_of_copies(60)), call_seconds=0.2).error_type == OTHER_STATE


def wrong(row: MultiTurnRow, rng: random.Random) -> list[list[list[str]]]:
    """A rollout that does part of the work and ends in another state."""
    turns = [[[call for call in calls if rng.random() < 0.5]] for calls in row.gold]
    return turns[: rng.randint(1, len(turns))] + [[] for _ in range(rng.randint(0, 1))]


def right(row: MultiTurnRow) -> list[list[list[str]]]:
    return steps(*row.gold)


@pytest.mark.parametrize("category", MULTI_TURN)
def test_gold_is_right_after_wrong_rollouts_of_the_same_row(category: str) -> None:
    rng = random.Random(3)
    for row in multi_turn_rows(category):
        check(row, wrong(row, rng))
        assert check(row, right(row)).valid, row.id


@pytest.mark.parametrize("category", MULTI_TURN)
def test_eight_rollouts_of_one_row_in_any_order_are_judged_as_alone(category: str) -> None:
    rng = random.Random(5)
    for row in rng.sample(multi_turn_rows(category), 8):
        rollouts = [right(row) if number % 3 == 0 else wrong(row, rng) for number in range(8)]
        alone = [check(row, rollout) for rollout in rollouts]
        order = rng.sample(range(8), 8)
        assert {number: check(row, rollouts[number]) for number in order} == dict(enumerate(alone))
        assert all(alone[number].valid for number in range(0, 8, 3))


calls = st.sampled_from(["ls()", "cat('a.txt')", "mkdir('new')", "cd('sub')", "cd('..')", "rm('sub')", "x("])
turns = st.lists(st.lists(calls, max_size=3), max_size=3)


@given(st.lists(turns, max_size=4))
def test_any_rollout_has_the_same_verdict_twice_and_through_a_file(rollout: list[list[list[str]]]) -> None:
    assert check(ROW, rollout) == check(ROW, json.loads(json.dumps(rollout)))


def line(**more: Any) -> dict[str, Any]:
    row = multi_turn_rows("multi_turn_base")[0]
    return {"case_id": "c", "category": row.category, "id": row.id, "model_calls": right(row), **more}


def test_rows_name_a_row_of_the_leaderboard() -> None:
    assert judge_row(line()) == RowVerdict("c", True, "", None)
    assert judge_row(line(model_calls=[])).to_json() == {
        "case_id": "c", "valid": False, "error_type": CUT_OFF, "turn": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"category": "multi_turn_bse"}, "multi_turn_base"),
        ({"category": "simple_python"}, "unknown category"),
        ({"id": "multi_turn_base_200"}, "no such row"),
        ({"id": "multi_turn_miss_func_1"}, "no such row"),
        ({"model_calls": ["ls()"]}, "another shape"),
        ({"model_calls": [["ls()"]]}, "another shape"),
        ({"model_calls": [[[1]]]}, "another shape"),
        ({"model_calls": None}, "another shape"),
    ],
)
def test_a_row_that_cannot_be_judged_is_told(more: dict[str, Any], told: str) -> None:
    with pytest.raises(DataError, match=told):
        judge_row(line(**more))
    found = list(judge_lines([json.dumps(line()).encode(), json.dumps(line(**more)).encode()], "x.jsonl"))
    assert isinstance(found[0], RowVerdict) and "x.jsonl line 2" in str(found[1])


@pytest.mark.parametrize("key", ["case_id", "category", "id", "model_calls"])
def test_a_missing_key_is_named(key: str) -> None:
    row = line()
    row[key[:-1] + "x"] = row.pop(key)
    with pytest.raises(DataError, match=f"no {key}"):
        judge_row(row)


def test_every_difference_has_a_reason_of_its_own() -> None:
    assert len({difference.name for difference in DIFFERENCES}) == len(DIFFERENCES)
    assert all(d.theirs and d.ours and d.why for d in DIFFERENCES)
