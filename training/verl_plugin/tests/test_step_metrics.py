"""The line of a step, and the file it is written to across interruptions."""
from __future__ import annotations

import json

import pytest

from training.verl_plugin.step_metrics import summarise, written_step


def rollout(score, acc, made=2.0, failed=0.0, turns=3, unreadable=0.0):
    calls = {"calls/made": made, "calls/unreadable": unreadable, "calls/failed": failed}
    info = {"score": score, "acc": acc, "void": 0.0, **calls}
    return info, {"turns": turns}


def test_rates_are_means_and_dead_groups_are_counted():
    rollouts = [rollout(1.0, 1.0), rollout(0.5, 0.0, failed=1.0), rollout(0.2, 0.0), rollout(0.2, 0.0)]
    verl = {"perf/total_num_tokens": 400, "actor/ppo_kl": 0.01}
    rewards, meta = map(list, zip(*rollouts, strict=True))
    line = summarise(rewards, meta, ["a", "a", "b", "b"], verl, {"step": 4.0}, 7)
    assert line["step"] == 7
    assert line["reward"] == pytest.approx(0.475)
    assert line["success"] == 0.25
    assert line["call_valid"] == pytest.approx(7 / 8)
    assert line["live_groups"] == 0.5
    assert line["tokens_per_s"] == 100.0
    assert json.loads(json.dumps(line)) == line
    assert "entropy" not in line, "what was not computed is no zero"


def test_calls_that_nobody_can_read_are_counted_once():
    info, meta = rollout(0.0, 0.0, made=3.0, failed=3.0, unreadable=3.0)
    assert summarise([info], [meta], ["a"], {}, {"step": 1.0}, 1)["call_valid"] == 0.0


def test_void_rollouts_are_counted_and_not_scored():
    rollouts = [rollout(1.0, 1.0), rollout(0.5, 0.0), rollout(0.0, 0.0, made=0.0)]
    rewards, meta = map(list, zip(*rollouts, strict=True))
    rewards[2]["void"] = 1.0
    line = summarise(rewards, meta, ["a", "a", "b"], {}, {"step": 1.0}, 1)
    assert line["reward"] == 0.75 and line["success"] == 0.5 and line["void"] == 1.0
    assert line["live_groups"] == 1.0 and line["rollouts"] == 3


@pytest.mark.parametrize(("line", "step"), [('{"step": 3}', 3), ('{"st', float("inf")), ("[]", float("inf"))])
def test_a_torn_line_counts_as_never_written(line, step):
    assert written_step(line) == step
