"""`Rollouts`: a batch as the advantage pipeline sees it, free of queues, padding rules and trainers."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rollouts:
    """The columns of a batch; row i of each is rollout i. Rows that stand for no rollout carry `padding`."""

    groups: tuple[str, ...]
    """Prompt of each rollout."""
    mask: Tensor
    """(rows, tokens) float32, 1 where the model wrote the token, 0 for observations and beyond a row's end."""
    spans: Tensor
    """(rows, turns, 2) int64, [start, end) of each assistant turn, all written by the model; (0, 0) for none."""
    turn_rewards: Tensor
    """(rows, turns) float, 0 for turns a rollout did not reach."""
    acc: Tensor
    """(rows,) bool, the task was done."""
    void: Tensor
    """(rows,) bool, the infrastructure failed."""
    overlong: Tensor
    """(rows,) bool, the token budget cut the rollout short."""
    void_turn: Tensor
    """(rows,) bool, a turn held neither a readable call nor an answer."""
    padding: Tensor
    """(rows,) bool, the row fills a batch up."""

    @cached_property
    def group(self) -> Tensor:
        """(rows,) int64, number of each row's group, in order of first appearance."""
        numbers: dict[str, int] = {}
        return torch.tensor([numbers.setdefault(name, len(numbers)) for name in self.groups], dtype=torch.int64)

    @property
    def reached(self) -> Tensor:
        """(rows, turns) bool, turns that were taken."""
        return self.spans[..., 1] > self.spans[..., 0]
