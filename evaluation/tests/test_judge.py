"""Verdicts over played trajectories: what is right, which mistake is named, what each call was good for."""
from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from environment.core.trajectory import StopReason
from environment.session.limits import Limits
from evaluation.judge import Verdict, judge
from evaluation.tests.support import SCHEMAS, gold_call, make_task, play, script


def verdict(kind: str, steps: int = 2) -> Verdict:
    """Return the verdict over a script."""
    task = make_task(1, steps)
    found = judge(play(task, script(task, kind)), task, SCHEMAS)
    assert found is not None
    return found


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("right", "none"),
        ("talk", "no_call"),
        ("garbled", "malformed"),
        ("surplus", "surplus_call"),
        ("wrong", "wrong_value"),
    ],
)
def test_each_kind_of_mistake_is_named(kind: str, fault: str, steps: int) -> None:
    found = verdict(kind, steps)
    assert found.fault == fault
    assert found.success == (fault == "none")


def test_a_right_chain_is_right_in_every_figure() -> None:
    found = verdict("right")
    assert (found.turn_accuracy, found.call_accuracy, found.calls, found.readable, found.turns) == (1, 1, 2, 2, 3)
    assert [(m.step, m.right, m.note) for m in found.marks] == [(0, True, ""), (1, True, "")]


def test_a_wrong_value_names_its_argument() -> None:
    found = verdict("wrong")
    assert found.marks[1].note == "wrong departure_date"
    assert found.turn_accuracy == 0.5


def test_a_surplus_call_is_marked_and_costs_call_accuracy() -> None:
    found = verdict("surplus")
    assert [m.step for m in found.marks] == [0, 1, None]
    assert found.call_accuracy == pytest.approx(2 / 3)


def test_half_a_chain_lacks_a_step_and_a_cut_chain_lacks_an_answer() -> None:
    task = make_task(2)
    half = judge(play(task, [gold_call(task, 0), "That is all."]), task, SCHEMAS)
    cut = judge(play(task, [gold_call(task, 0), gold_call(task, 1)], limits=Limits(max_turns=2)), task, SCHEMAS)
    assert half is not None and cut is not None
    assert half.fault == "missing_step"
    assert (cut.fault, cut.turn_accuracy) == ("no_answer", 1.0)


def test_all_calls_in_one_turn_are_out_of_order() -> None:
    task = make_task(3)
    found = judge(play(task, [gold_call(task, 0) + gold_call(task, 1), "Done."]), task, SCHEMAS)
    assert found is not None
    assert found.fault == "order"
    assert found.marks[1].note == "before what it depends on"


def test_infrastructure_failures_have_no_verdict() -> None:
    task = make_task(1)
    failed = replace(play(task, script(task, "right")), stop=StopReason.INFRASTRUCTURE)
    assert judge(failed, task, SCHEMAS) is None


@pytest.mark.parametrize("score", [0.25, SimpleNamespace(score=0.25)])
def test_an_injected_reward_may_be_a_number_or_have_a_score(score: object) -> None:
    task = make_task(1)
    found = judge(play(task, script(task, "talk")), task, SCHEMAS, lambda trajectory, of, schemas: score)
    assert found is not None
    assert found.reward == 0.25
