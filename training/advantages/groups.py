"""Sums over the members of a group, in float64: the order of rows is lost in the last digits of float32."""
from __future__ import annotations

import torch
from torch import Tensor


def group_sum(values: Tensor, group: Tensor, member: Tensor) -> Tensor:
    """Return for every row the sum over the members of its group.

    Args:
        values: (rows, ...) numbers; those of rows that are no members may be anything finite.
        group: (rows,) int64 group numbers from 0.
        member: (rows,) or (rows, ...) bool, which values count.

    Returns:
        (rows, ...) float64; 0 for a group without members.
    """
    while member.dim() < values.dim():
        member = member.unsqueeze(-1)
    counted = values.double() * member
    totals = torch.zeros((int(group.max()) + 1 if len(group) else 0, *values.shape[1:]), dtype=torch.float64)
    return totals.index_add_(0, group, counted)[group]


def group_size(group: Tensor, member: Tensor) -> Tensor:
    """Return for every row (or every entry of `member`) how many members its group has, as float64."""
    return group_sum(torch.ones_like(member, dtype=torch.float64), group, member)


def group_mean(values: Tensor, group: Tensor, member: Tensor) -> Tensor:
    """Return for every row the mean over the members of its group; 0 for a group without members."""
    return group_sum(values, group, member) / group_size(group, member.expand_as(values)).clamp_min(1)


def mean_of_others(values: Tensor, group: Tensor, member: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean over the other members of each row's group, and where there is one at all.

    Args:
        values, group: as for `group_sum`.
        member: of the shape of `values`, bool.

    Returns:
        float64 means of the shape of `values`, 0 where there are no others, and a bool mask of where there are.
    """
    own = member.double()
    others = group_size(group, member) - own
    total = group_sum(values, group, member) - values.double() * own
    return total / others.clamp_min(1), others > 0
