"""ToolRL's reward: the paper's arithmetic on hand-worked cases, bounds, and what it does not look at."""

# pyright: basic
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.tests.moves import Move, chain, gold_moves, play
from environment.core.errors import ConfigError
from environment.core.task import GoldStep, Task
from environment.core.trajectory import Trajectory
from training.reward.tests.settings import made
from training.reward.toolrl import ToolRlOptions, score

TASK = Task("t", "q", ("find", "look"), (GoldStep("find", {"a": "x", "b": 2}), GoldStep("look", {"c": "y"})))
FIND, LOOK = Move("find", {"a": "x", "b": 2}, {}), Move("look", {"c": "y"}, {})
MOST = 1 + 2 + 3


def value(*moves: Move) -> float:
    return score(play(moves), TASK, {}).score


def expected(matched: float, form: float = 1.0) -> float:
    return (form + 6 * matched / MOST) / 7


@pytest.mark.parametrize(
    ("moves", "matched"),
    [
        ([FIND, LOOK], MOST),
        ([LOOK, FIND], MOST),
        ([FIND], 1 / 2 + 1 + 2),
        ([Move("find", {"a": "x", "b": 3}, {}), LOOK], 1 + 2 + 2),
        ([Move("find", {"a": "x"}, {}), LOOK], 1 + (1 / 2 + 1) + 2),
        ([Move("find", {"a": "x", "z": 1}, {}), LOOK], 1 + (1 / 3 + 1) + 2),
        ([Move("other", {"a": "x"}, {})], 0),
        ([FIND, LOOK, Move("other", {}, {})], 2 / 3 + 5),
        ([FIND, LOOK, FIND, FIND], MOST),
    ],
)
def test_hand_worked_cases(moves: list[Move], matched: float) -> None:
    found = score(play(moves), TASK, {})
    assert found.score == pytest.approx(expected(matched))
    assert found.components["R_correct"] == pytest.approx(6 * matched / MOST - 3)


def test_nothing_called_where_calls_are_wanted_is_the_worst() -> None:
    assert value() == 0.0
    said = replace(play([]), messages=({"role": "assistant", "content": "It is sunny."},))
    assert score(said, TASK, {}).score == 0.0
    assert score(said, Task("t", "q", (), ()), {}).score == 1.0
    assert score(play([FIND]), Task("t", "q", (), ()), {}).score == pytest.approx(1 / 7)


def test_a_text_is_not_a_number_and_true_is_not_one() -> None:
    for wrong in ("2", True, 2.5, None, [2]):
        assert value(Move("find", {"a": "x", "b": wrong}, {}), LOOK) < 1.0


def test_the_best_pairing_counts_not_the_first() -> None:
    task = Task("t", "q", ("find",), (GoldStep("find", {"a": "1", "b": "1"}), GoldStep("find", {"a": "2", "b": "2"})))
    crossed = play([Move("find", {"a": "2", "b": "2"}, {}), Move("find", {"a": "1", "b": "1"}, {})])
    assert score(crossed, task, {}).score == 1.0


def test_form_counts_a_seventh_and_reasoning_can_be_asked_for() -> None:
    whole = play([FIND, LOOK])
    assert score(whole, TASK, {}, ToolRlOptions(think=1)).score == pytest.approx(6 / 7)
    assert score(whole, TASK, {}, ToolRlOptions(format=0)).score == 1.0


def test_gold_through_the_session_is_one() -> None:
    for setting in made():
        assert score(setting.honest(len(setting.task.steps)), setting.task, setting.schemas).score == 1.0


names = st.sampled_from(["find", "look", "zz"])
values = st.none() | st.integers(0, 3) | st.text("xy", max_size=1) | st.lists(st.integers(0, 1), max_size=2)
moves = st.builds(Move, name=names, arguments=st.dictionaries(st.sampled_from("abc"), values, max_size=3))


@given(st.lists(moves, max_size=6))
def test_bounded_and_never_above_gold(played: list[Move]) -> None:
    found = score(play(played), TASK, {})
    assert 0.0 <= found.score <= 1.0
    assert found.components["match/values"] <= 3 and found.components["match/keys"] <= 2


@given(st.lists(moves, min_size=1, max_size=4), moves)
def test_one_more_call_never_unmakes_a_match(played: list[Move], more: Move) -> None:
    before, after = score(play(played), TASK, {}), score(play([*played, more]), TASK, {})
    assert after.components["match/keys"] + after.components["match/values"] >= (
        before.components["match/keys"] + before.components["match/values"] - 1e-9
    )


@pytest.mark.parametrize("bad", [{"format": -1}, {"format": 0, "correctness": 0}, {"think": 3}, {"correctness": "6"}])
def test_bad_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"reward\.weights"):
        ToolRlOptions(**bad)


def test_it_reads_no_result() -> None:
    task, responses = chain(3)
    whole: Trajectory = play(gold_moves(task, responses))
    blind = play([Move(m.name, m.arguments, {"x": 1}) for m in gold_moves(task, responses)])
    assert score(whole, task, {}).score == score(blind, task, {}).score == 1.0
