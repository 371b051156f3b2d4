"""What the trainer must know of a rollout beyond its tokens, as plain data that travels with it through the queue."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from BFCL.check.conduct import conduct
from BFCL.check.match import GoldChain
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory


def rollout_facts(trajectory: Trajectory) -> dict[str, Any]:
    """Return the spans of the turns and the marks the advantage masks read."""
    done = conduct(trajectory)
    return {
        "spans": [[span.start, span.end] for span in trajectory.spans],
        "overlong": done.truncated,
        "void_turn": done.void_turn,
    }


def turn_rewards(trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema]) -> list[float]:
    """Return what each assistant turn added: the share of the gold steps it did right and in order.

    The sum is the share of the chain that was done. A turn without a right call adds 0, the closing answer too: the
    rollout's own reward looks at the end.
    """
    match = GoldChain(task, schemas).match(trajectory)
    turns = sum(message.get("role") == "assistant" for message in trajectory.messages)
    rewards = [0.0] * turns
    for step in match.steps:
        if step.call is not None and step.correct and step.ordered:
            rewards[trajectory.calls[step.call].turn] += 1 / len(match.steps)
    return rewards
