"""Take each group's mean off shaped advantages, so that a step pushes no group as a whole up or down.

    A''_i = A'_i - mean_{j in group} mean_{tokens of j} A'_j

A rollout counts by the mean over its tokens, not by its length. Degenerate cases: a group of one, or one whose
advantages are all 0, is left as it is. The sign that EGPO keeps may change by this.
"""
from __future__ import annotations

import torch
from torch import Tensor

from training.advantages.groups import group_mean, group_size


def recentred(advantages: Tensor, tokens: Tensor, group: Tensor, counted: Tensor) -> Tensor:
    """Return the advantages with every group's mean at zero.

    Args:
        advantages: (rows, columns) float32.
        tokens: (rows, columns) tokens that carry each column.
        group: (rows,) int64 group numbers.
        counted: (rows,) bool, the members that make up the mean and are moved.
    """
    weight = tokens.double()
    length = weight.sum(-1)
    each = (advantages.double() * weight).sum(-1) / length.clamp_min(1)
    member = counted & (length > 0)
    moved = member & (group_size(group, member) > 1)
    mean = group_mean(each, group, member)
    return torch.where(moved[:, None], advantages - mean[:, None].to(advantages.dtype), advantages)
