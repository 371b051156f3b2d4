# pyright: basic
"""The figures of a step's rollouts, and when a person is told something."""
from __future__ import annotations

import json

import pytest

from BFCL.check.conduct import CALL_CLASSES
from environment.core.calls import ParseStatus, ResultStatus, ToolCall, ToolResult
from environment.core.trajectory import StopReason, Trajectory
from training.rollout.metrics import notes, rollout_metrics

CALL = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


def trajectory(*turns, status=ResultStatus.OK, stop=StopReason.ANSWER, seconds=2.0, generate=1.5):
    messages = tuple({"role": "assistant", "content": text} for text in turns)
    calls = tuple(ToolCall(f"t{i}c0", i, "f", {}, "") for i, text in enumerate(turns) if "<tool_call>{" in text)
    results = tuple(ToolResult(c.id, status, None, "") for c in calls)
    meta = {"seconds": seconds, "generate_s": generate}
    return Trajectory("t", messages, calls, results, (), stop, answer="done", meta=meta)


def test_rates_add_up_and_void_rollouts_stand_outside():
    void = trajectory("", stop=StopReason.INFRASTRUCTURE, seconds=99.0)
    step = [trajectory(CALL, "done"), trajectory("done"), trajectory(CALL, CALL, stop=StopReason.MAX_TOKENS), void]
    got = rollout_metrics(step)
    assert got["calls/per_rollout"] == 1 and got["tools/used_rate"] == pytest.approx(2 / 3)
    assert sum(got[f"calls/{name}_rate"] for name in CALL_CLASSES) == pytest.approx(1)
    assert sum(value for name, value in got.items() if name.startswith("stop/")) == pytest.approx(1)
    states = ("healthy_call", "healthy_text", "polluted", "collapsed")
    assert sum(got[f"structure/{state}_rate"] for state in states) == pytest.approx(1)
    assert got["structure/healthy_call_rate"] == pytest.approx(3 / 5)
    assert got["truncated_rate"] == pytest.approx(1 / 3) and got["calls/repeat_rate"] == pytest.approx(1 / 3)
    assert got["latency/episode_max_s"] == 2 and got["latency/other_s"] == pytest.approx(0.5)
    assert all(isinstance(value, float) for value in got.values())
    assert json.loads(json.dumps(got)) == got


def test_misses_and_unreadable_calls_have_classes_of_their_own():
    broken = ToolCall("t0c0", 0, "", {}, "{", ParseStatus.MALFORMED_JSON, "not JSON")
    bad = Trajectory("t", ({"role": "assistant", "content": "<tool_call>{"},), (broken,), (), (), StopReason.ANSWER)
    got = rollout_metrics([bad, trajectory(CALL, "x", status=ResultStatus.MISS)])
    assert got["calls/malformed_json_rate"] == got["calls/miss_rate"] == 0.5
    assert got["call_valid"] == 0.5, "a miss is a valid call, and an unreadable one counts against validity once"


@pytest.mark.parametrize("status", ResultStatus)
def test_a_call_is_valid_or_not_and_nothing_beyond(status):
    valid = status not in (ResultStatus.INVALID_ARGUMENTS, ResultStatus.UNKNOWN_TOOL, ResultStatus.NOT_EXECUTED)
    assert rollout_metrics([trajectory(CALL, "x", status=status)])["call_valid"] == valid


def test_rates_of_nothing_are_left_out():
    assert rollout_metrics([]) == {}
    got = rollout_metrics([trajectory("done")])
    assert "calls/ok_rate" not in got and "structure/early_warning" not in got
    assert got["tools/used_rate"] == 0


def test_a_collapse_rings_before_and_while_it_happens():
    early = rollout_metrics([trajectory(CALL, "I look <tool_call>")])
    assert early["structure/early_warning"] == 0.5 and early["structure/collapsed_rate"] == 0
    assert "a collapse begins so" in " ".join(notes(5, early, {}))
    gone = rollout_metrics([trajectory("<tool_call>")])
    assert gone["structure/collapsed_rate"] == 1
    assert not any("again" in note for note in notes(5, gone, early))
    assert any("again" in note for note in notes(6, gone, gone))


def test_a_first_step_without_a_call_is_told_and_a_later_one_is_not():
    silent = rollout_metrics([trajectory("done")])
    assert "no rollout called a tool" in notes(1, silent)[0]
    assert notes(2, silent, silent) == []
    assert notes(1, rollout_metrics([trajectory(CALL, "x")])) == []


def test_egpo_without_a_thought_is_told():
    assert "scope=assistant" in notes(3, {"advantage/egpo/without_scope": 1.0}, {})[0]
    assert notes(3, {"advantage/egpo/without_scope": 0.5}, {}) == []
