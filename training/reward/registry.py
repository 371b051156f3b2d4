"""Rewards by name: `reward("graduated", {"surplus_cost": 0.2})` gives a function of trajectory, task and schemas.

To add one, write a module with a `score` and name it in `_FACTORIES`. Options are checked when the reward is made,
before anything runs.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from typing import Any, Protocol

from environment.core.errors import ConfigError, nearest_name
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from training.reward import binary, complex_tool, graduated, legacy, toolrl
from training.reward.binary import BinaryOptions
from training.reward.graduated import RewardWeights
from training.reward.legacy import decoded_text
from training.reward.options import check_number, known_options
from training.reward.score import Score
from training.reward.toolrl import ToolRlOptions

__all__ = ["Reward", "decoded_text", "names", "reward"]


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


def _graduated(options: Mapping[str, Any]) -> Reward:
    weights = RewardWeights(**known_options(options, (f.name for f in fields(RewardWeights))))
    return partial(graduated.score, weights=weights)


def _legacy(options: Mapping[str, Any]) -> Reward:
    weights = known_options(options, complex_tool.DEFAULT_WEIGHTS)
    for name, value in weights.items():
        check_number(name, value)
    return partial(legacy.score, weights=weights or None)


def _binary(options: Mapping[str, Any]) -> Reward:
    made = BinaryOptions(**known_options(options, (f.name for f in fields(BinaryOptions))))
    return partial(binary.score, options=made)


def _toolrl(options: Mapping[str, Any]) -> Reward:
    made = ToolRlOptions(**known_options(options, (f.name for f in fields(ToolRlOptions))))
    return partial(toolrl.score, options=made)


_FACTORIES: Mapping[str, Callable[[Mapping[str, Any]], Reward]] = {
    "binary": _binary,
    "graduated": _graduated,
    "legacy": _legacy,
    "toolrl": _toolrl,
}
