"""The taxonomy: every kind of mistake by its name, none for a success, infrastructure alone."""
from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.core.trajectory import StopReason, Trajectory
from environment.session.limits import Limits
from environment.session.prompt import call_text
from evaluation.judge import judge
from evaluation.mistakes import Kind, Mistake, mistakes
from evaluation.tests.support import SCHEMAS, gold_call, make_task, play, script

TASK = make_task(1)
STAY = dict(TASK.steps[1].arguments)
FIRST, SECOND = (gold_call(TASK, step) for step in range(2))


def found(*turns: str, limits: Limits | None = None) -> tuple[Mistake, ...]:
    return mistakes(play(TASK, turns, limits=limits), TASK, SCHEMAS)


def kinds(*turns: str) -> list[Kind]:
    return [mistake.kind for mistake in found(*turns)]


def test_a_success_has_none() -> None:
    assert found(*script(TASK, "right")) == ()


def test_each_kind_is_named() -> None:
    other = call_text("Get_Hotel_Details", {"hotel_id": "1"})
    elsewhere = call_text("Search_Hotel_Destination", {"query": "Turku"})
    assert kinds(FIRST, other, SECOND, "Done.") == [Kind.WRONG_TOOL]
    assert kinds(FIRST, elsewhere, SECOND, "Done.") == [Kind.EXTRA_CALL]
    assert kinds(FIRST, "Done.") == [Kind.MISSING_STEP, Kind.GAVE_UP]
    assert kinds("<tool_call>{</tool_call>", FIRST, SECOND, "Done.") == [Kind.MALFORMED]
    assert kinds(SECOND, FIRST, "Done.") == [Kind.ORDER]
    assert kinds("Nothing.") == [Kind.MISSING_STEP, Kind.MISSING_STEP, Kind.GAVE_UP]
    refused = call_text("Search_Hotels", {"dest_id": "1"})
    assert kinds(FIRST, refused, SECOND, "Done.") == [Kind.REFUSED_CALL]


def test_an_episode_cut_off_by_a_limit_did_not_give_up() -> None:
    cut = [m.kind for m in found(FIRST, FIRST, FIRST, limits=Limits(max_turns=2))]
    assert Kind.CUT_OFF in cut and Kind.GAVE_UP not in cut and Kind.MISSING_STEP in cut


@pytest.mark.parametrize(
    ("change", "argument", "how"),
    [
        ({"arrival_date": "2027-05-02"}, "arrival_date", "differs"),
        ({"arrival_date": None}, "arrival_date", "left out"),
        ({"room_qty": 3}, "room_qty", "made up"),
    ],
)
def test_a_wrong_value_says_which_argument_and_how(change: dict[str, object], argument: str, how: str) -> None:
    given_ = {name: value for name, value in {**STAY, **change}.items() if value is not None}
    wrong = [m for m in found(FIRST, call_text("Search_Hotels", given_), "Done.") if m.kind == Kind.WRONG_VALUE]
    assert [(m.tool, m.argument, m.how, m.step, m.call) for m in wrong] == [("Search_Hotels", argument, how, 1, 1)]


def test_infrastructure_is_the_only_mistake_of_its_episode() -> None:
    lost = replace(play(TASK, ["Nothing."]), stop=StopReason.INFRASTRUCTURE)
    assert mistakes(lost, TASK, SCHEMAS) == (Mistake(Kind.INFRASTRUCTURE),)


TURNS = st.sampled_from(
    [FIRST, SECOND, "Done.", "<tool_call>", call_text("Get_Hotel_Details", {}), call_text("Search_Hotels", {}), ""]
)


@given(st.lists(TURNS, max_size=5))
def test_success_means_no_mistake_that_counts_and_the_other_way_round(turns: list[str]) -> None:
    trajectory: Trajectory = play(TASK, [*turns, "Done."])
    verdict = judge(trajectory, TASK, SCHEMAS)
    listed = {m.kind for m in mistakes(trajectory, TASK, SCHEMAS)}
    forgiven = {Kind.MALFORMED, Kind.REFUSED_CALL}
    failed_tries = any(k == Kind.WRONG_TOOL for k in listed)
    assert verdict is not None
    if verdict.success:
        assert listed <= forgiven | {Kind.WRONG_TOOL}
    elif not failed_tries:
        assert listed - forgiven
