"""A rollout that breaks is a void rollout with its cause, never an exception: verl would replace its group for ever."""
from __future__ import annotations

import asyncio
import importlib.util
import json
import types
from typing import Any

import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

from environment.core.task import GoldStep, Task
from environment.core.trajectory import StopReason, Trajectory
from training.reward.score import Score
from training.rollout.loop import VOID, ToolRlAgentLoop, rollout_output
from training.rollout.tokens import TokenPolicy

TOOL = "Search_Hotel_Destination"
TASK = Task("t1", "Find Oslo", (TOOL,), (GoldStep(TOOL, {"query": "Oslo"}),))


@pytest.fixture
def loop(tmp_path):
    made: Any = object.__new__(ToolRlAgentLoop)
    made.tokenizer = types.SimpleNamespace(eos_token_id=2)
    made.settings = {"world_path": str(tmp_path / "none.db"), "task": {}, "seed": 1, "limits": {}, "reward": {}}
    return made


@pytest.mark.parametrize("info", [{"task": json.dumps(TASK.to_json()), "task_id": "t1"}, {"task": "{"}, {}, None])
def test_a_broken_world_or_row_gives_a_void_rollout(loop, info):
    out = asyncio.run(loop.run({}, extra_info=info, global_steps=3, session_id=1))
    row = json.loads(out.extra_fields["trajectory"])
    assert row["stop"] == "infrastructure" and row["error"]
    assert out.extra_fields["reward_extra_info"]["void"] == 1.0
    assert out.reward_score == 0 and sum(out.response_mask) == 0
    assert len(out.prompt_ids) == len(out.response_ids) == len(out.response_logprobs) == 1
    assert out.extra_fields["min_global_steps"] == 3, "verl counts staleness from it"


def test_a_missing_world_is_named(loop):
    out = asyncio.run(loop.run({}, extra_info={"task": json.dumps(TASK.to_json())}, global_steps=1))
    assert "none.db" in json.loads(out.extra_fields["trajectory"])["error"]


def test_log_probs_are_never_made_up():
    unused: Any = None
    policy = TokenPolicy(unused, [], 50, 20)
    policy.prompt, policy.response, policy.mask, policy.log_probs = [5], [6], [1], None
    trajectory = Trajectory("t1", (), (), (), (), StopReason.ANSWER, meta={"step": 1})
    score = Score(score=1.0, components={}, acc=True)
    assert rollout_output(trajectory, score, policy, 2).response_logprobs is None
    assert rollout_output(trajectory, VOID, policy, 2).response_mask == [0]
