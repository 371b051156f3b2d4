"""The plain types keep everything through JSON, and errors carry their parts."""

from __future__ import annotations

import json
import pickle
from dataclasses import asdict

import pytest

from environment.core.calls import ParseStatus, ResultStatus, ToolCall, ToolResult
from environment.core.errors import ConfigError, ToolRlError, nearest_name
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import TRAJECTORY_VERSION, Observed, StopReason, TokenSpan, Trajectory

TASK = Task(
    id="t1",
    query="find a room",
    tools=("A", "B"),
    steps=(GoldStep("A", {"q": "x"}), GoldStep("B", {"id": "1"}, (0,), (Edge("id", 0, "data[0].id"),))),
    pattern="A>B",
)
TRAJECTORY = Trajectory(
    task_id="t1",
    messages=({"role": "user", "content": "find a room"},),
    calls=(
        ToolCall("t0c0", 0, "A", {"q": "x"}, "raw"),
        ToolCall("t0c1", 0, "", {}, "{", ParseStatus.MALFORMED_JSON, "no"),
    ),
    results=(
        ToolResult("t0c0", ResultStatus.OK, [1], "[1]"),
        ToolResult("t0c1", ResultStatus.NOT_EXECUTED, None, "{}"),
    ),
    ledger=(Observed("t0c0", "[0]", 1),),
    stop=StopReason.ANSWER,
    spans=(TokenSpan(0, 0, 3),),
)


def test_tasks_and_trajectories_survive_json() -> None:
    assert Task.from_json(json.loads(json.dumps(TASK.to_json()))) == TASK
    assert Trajectory.from_json(json.loads(json.dumps(TRAJECTORY.to_json()))) == TRAJECTORY


def test_the_json_of_a_trajectory_has_every_field_in_order() -> None:
    whole = {"version": TRAJECTORY_VERSION, **asdict(TRAJECTORY)}
    assert json.dumps(TRAJECTORY.to_json()) == json.dumps(whole)


def test_results_are_found_by_call() -> None:
    assert TRAJECTORY.result_of("t0c0").value == [1]
    with pytest.raises(KeyError):
        TRAJECTORY.result_of("t9c9")


def test_an_error_says_all_its_parts_and_pickles() -> None:
    error = ConfigError("bad", where="a.b", got=[1], expected="a number", nearest="c", fix="change it")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (type(again), again.exit_status, again.got) == (ConfigError, 2, [1])
    assert [line.split()[0] for line in str(error).splitlines()] == ["a.b:", "got", "expected", "nearest", "fix"]
    assert str(ToolRlError("bad")) == "bad"
    assert len(str(ToolRlError("bad", got="x" * 9999))) < 300


def test_nearest_names() -> None:
    assert nearest_name("serch_hotels", ["Search_Hotels", "Search_Taxi"]) == "Search_Hotels"
    assert nearest_name("qqq", ["Search_Hotels"]) is None
