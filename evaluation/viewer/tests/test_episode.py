"""What is worked out of one episode: argument diffs, where values came from, mistakes; for any trajectory."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.core.calls import ToolCall
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.trajectory import StopReason, Trajectory
from environment.session.prompt import call_text
from evaluation.mistakes import Kind
from evaluation.tests.support import CITIES, SCHEMAS, gold_call, make_task, play, script
from evaluation.viewer.diff import State, differences
from evaluation.viewer.episode import Episode, make_episode
from evaluation.viewer.tests.support import KINDS, hostile, rollout

TOOL = ToolSchema(
    "Find", "", {
        "type": "object",
        "properties": {
            "city": {"type": "string", "x-free-text": True}, "rooms": {"type": "integer", "default": 1},
            "day": {"type": "string", "format": "date"}, "id": {"type": "string"},
        },
        "required": ["city"],
    },
)  # fmt: skip
STEP = GoldStep("Find", {"city": "Oslo", "day": "2027-05-03", "id": "007"})


def states(step: GoldStep, **arguments: Any) -> dict[str, State]:
    call = ToolCall("t0c0", 0, step.function, arguments, "")
    return {diff.name: diff.state for diff in differences(step, call, TOOL)}


def test_each_way_of_being_right_or_wrong_has_its_name() -> None:
    found = states(STEP, city="  OSLO", day="2027/5/3", id="7", rooms=1, more=2)
    assert found == {
        "city": State.EQUAL, "day": State.EQUAL, "id": State.DIFFERS, "rooms": State.DEFAULT, "more": State.MADE_UP,
    }  # fmt: skip
    assert states(STEP, city="Oslo") == {"city": State.SAME, "day": State.LEFT_OUT, "id": State.LEFT_OUT}
    assert states(GoldStep("Find", {"city": "Oslo", "rooms": 1}), city="Oslo")["rooms"] == State.DEFAULT
    assert states(GoldStep("Find", {"city": "Oslo"}), city="Oslo", rooms=2)["rooms"] == State.MADE_UP


def test_types_are_told_apart_where_the_form_tells_them_apart() -> None:
    assert states(STEP, city="Oslo", id=True)["id"] == State.DIFFERS
    assert states(GoldStep("Find", {"city": "Oslo", "rooms": 2}), city="Oslo", rooms=2.0)["rooms"] == State.EQUAL


def test_of_several_right_sets_the_nearest_is_laid_beside_the_call() -> None:
    step = replace(STEP, accepted=({"city": "Bergen", "day": "2027-05-03", "id": "008"},))
    assert set(states(step, city="Bergen", day="2027-05-03", id="008").values()) == {State.SAME}
    assert states(step, city="Bergen", day="2027-05-03", id="009")["city"] == State.SAME


NAMES = st.sampled_from(["city", "day", "id", "rooms", "x"])


@given(st.dictionaries(NAMES, st.none() | st.booleans() | st.text(max_size=4) | st.integers(0, 3)))
def test_a_call_is_right_exactly_when_every_argument_is(arguments: dict[str, Any]) -> None:
    from BFCL.check.credit import argument_credits, mean_credit
    from environment.core.canonical import canonical_arguments

    credits = argument_credits(canonical_arguments(TOOL, STEP.arguments), canonical_arguments(TOOL, arguments))
    found = states(STEP, **arguments)
    assert all(state.right for state in found.values()) == (mean_credit(credits) == 1)
    assert set(found) == STEP.arguments.keys() | arguments.keys()


def looked_at(task: Task, *turns: str) -> Episode:
    return make_episode(play(task, turns), task, SCHEMAS)


def test_a_value_leads_to_the_field_it_came_from() -> None:
    task = make_task(1)
    episode = looked_at(task, *script(task, "right"))
    taken = {origin.argument: origin for origin in episode.origins[1]}
    assert (taken["dest_id"].producer, taken["dest_id"].field) == (0, "data[0].dest_id")
    assert episode.uses[0][0].argument == "dest_id"
    assert episode.origins[0][0].requested and episode.origins[0][0].producer is None
    assert not taken["arrival_date"].requested


def test_a_value_that_should_have_come_from_a_result_but_did_not_is_marked() -> None:
    task = make_task(1)
    guessed = {**task.steps[1].arguments, "dest_id": "9999"}
    episode = looked_at(task, gold_call(task, 0), call_text("Search_Hotels", guessed), "Done.")
    origin = next(o for o in episode.origins[1] if o.argument == "dest_id")
    assert origin.producer is None and origin.expected == "step 1: data[0].dest_id"


def test_values_of_the_same_turn_and_of_failed_calls_have_not_been_seen() -> None:
    task = make_task(1)
    both = looked_at(task, gold_call(task, 0) + gold_call(task, 1), "Done.")
    assert all(o.producer is None for o in both.origins.get(1, ()))
    refused = call_text("Search_Hotels", {"dest_id": "4001"})
    unseen = looked_at(task, refused, refused)
    assert all(o.producer is None for o in unseen.origins[1])


def test_without_a_task_origins_are_still_told() -> None:
    task = make_task(1)
    episode = make_episode(play(task, script(task, "right")), None, SCHEMAS)
    assert episode.verdict is None and episode.diffs == {} and episode.mistakes == ()
    assert any(o.field == "data[0].dest_id" for o in episode.uses[0])


@pytest.mark.parametrize("kind", KINDS)
def test_diffs_are_made_for_the_calls_that_steps_took(kind: str) -> None:
    task = make_task(1)
    episode = make_episode(rollout(task, kind, 0), task, SCHEMAS)
    assert episode.match is not None and episode.verdict is not None
    assert episode.diffs.keys() == episode.step_of.keys() == {s.call for s in episode.match.steps if s.call is not None}
    assert (episode.mistakes == ()) == episode.verdict.success == (kind == "right")
    wrong = {d.name for diffs in episode.diffs.values() for d in diffs if not d.state.right}
    assert wrong == {m.argument for m in episode.mistakes if m.kind == Kind.WRONG_VALUE}


def test_an_episode_that_the_infrastructure_failed_is_not_judged() -> None:
    task = make_task(1)
    lost = replace(play(task, script(task, "right")), stop=StopReason.INFRASTRUCTURE)
    episode = make_episode(lost, task, SCHEMAS)
    assert episode.verdict is None and [m.kind for m in episode.mistakes] == [Kind.INFRASTRUCTURE]


def test_hostile_trajectories_are_looked_at_like_others() -> None:
    episode = make_episode(Trajectory.from_json(hostile()), make_task(1), SCHEMAS)
    assert episode.match is not None and episode.verdict is not None and not episode.verdict.success


def test_rewards_of_any_shape_are_parts() -> None:
    trajectory = rollout(make_task(0), "right", 0)
    assert "R_form" in make_episode(trajectory, None, SCHEMAS).reward
    assert make_episode(replace(trajectory, meta={"reward": 0.5}), None, SCHEMAS).reward == {"score": 0.5}
    assert make_episode(replace(trajectory, meta={}), None, SCHEMAS).reward == {}


def test_cities_of_the_tiny_world_stand_in_requests_as_whole_words() -> None:
    task = make_task(1)
    part = call_text("Search_Hotel_Destination", {"query": CITIES[1][:3]})
    assert not looked_at(task, part, "Done.").origins[0][0].requested
