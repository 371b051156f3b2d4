"""Rewards by name: `reward("graduated", {"surplus_cost": 0.2})` gives a function of trajectory, task and schemas.

To add one, write a module with a factory that takes an options mapping and returns a `Reward`, and name it in
`_FACTORIES`. Options are checked when the reward is made, before anything runs.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Protocol

from BFCL.check.match import GoldChain
from environment.core.errors import ConfigError, nearest_name
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason, Trajectory
from training.reward import complex_tool, graduated
from training.reward.graduated import RewardWeights
from training.reward.score import Score


class Reward(Protocol):
    """A pure, total function: the same trajectory always earns the same."""

    def __call__(self, trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema]) -> Score:
        """Return the score of one trajectory of one task."""
        ...


def reward(name: str, options: Mapping[str, Any] | None = None) -> Reward:
    """Return the reward of this name with these options; ConfigError for an unknown name or option."""
    if name not in _FACTORIES:
        expected, near = "one of " + ", ".join(names()), nearest_name(name, names())
        raise ConfigError("unknown reward", where="reward.name", got=name, expected=expected, nearest=near)
    return _FACTORIES[name](options or {})


def names() -> tuple[str, ...]:
    """Return the names `reward` knows."""
    return tuple(sorted(_FACTORIES))


def decoded_text(trajectory: Trajectory) -> str:
    """Return what a trainer decodes from the response: assistant turns as written, replies in their tags."""
    parts: list[str] = []
    for message in trajectory.messages:
        content = message.get("content")
        text = content if isinstance(content, str) else ""
        match message.get("role"):
            case "assistant":
                parts.append(text)
            case "tool":
                parts.append(f"<tool_response>\n{text}\n</tool_response>")
            case _:
                pass
    return "\n".join(parts)


def _graduated(options: Mapping[str, Any]) -> Reward:
    _check_options(options, [f.name for f in fields(RewardWeights)])
    return partial(_score_graduated, weights=RewardWeights(**options))


def _score_graduated(
    trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema], weights: RewardWeights
) -> Score:
    return graduated.score(trajectory, task, schemas, weights)


def _legacy(options: Mapping[str, Any]) -> Reward:
    _check_options(options, complex_tool.DEFAULT_WEIGHTS)
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ConfigError("not a weight", where=f"reward.weights.{name}", got=value, expected="a finite number")
    return partial(_score_legacy, weights=dict(options) or None)


def _score_legacy(
    trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema], weights: Mapping[str, float] | None
) -> Score:
    found = complex_tool.compute(decoded_text(trajectory), task.to_json(), None, weights)
    match = GoldChain(task, schemas).match(trajectory)
    parts = {key: value for key, value in found.values.items() if key != "score"}
    return Score(
        score=min(1.0, max(0.0, found.values["score"])),
        components={**parts, "would_raise": float(found.error is not None)},
        acc=match.success,
        turn_accuracy=match.turn_accuracy,
        call_accuracy=match.call_accuracy,
        correct_calls=match.correct_calls,
        gold_steps=len(match.steps),
        void=trajectory.stop == StopReason.INFRASTRUCTURE,
        notes=(f"the reference raises {found.error}",) if found.error else (),
    )


def _check_options(options: Mapping[str, Any], known: Mapping[str, Any] | list[str]) -> None:
    for name in options:
        if name not in known:
            where, near = f"reward.weights.{name}", nearest_name(name, known)
            raise ConfigError("unknown option", where=where, expected="one of " + ", ".join(known), nearest=near)


_FACTORIES: Mapping[str, Callable[[Mapping[str, Any]], Reward]] = {"graduated": _graduated, "legacy": _legacy}
