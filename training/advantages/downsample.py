"""PODS: sample many rollouts, update on the few that differ most.

Sampling is cheap beside a backward pass. Of the n rollouts of a prompt keep the m whose rewards have the largest
variance; these are always some of the lowest and some of the highest (arXiv 2504.13818, theorem 1). Their advantages
are those of a group of m:

    A_i = (r_i - mean_S) / (std_S + eps)      for i in the kept set S, 0 for the others

m = n, or a group without spread, gives the plain group-relative advantages (zero in the latter case).
"""
from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

EPSILON = 1e-6
"""Added to the standard deviation, as in verl's GRPO estimator."""


def widest(rewards: Tensor, keep: int) -> Tensor:
    """Return a bool mask of the `keep` rollouts of one group with the largest variance of rewards.

    Args:
        rewards: (rollouts,) float.
        keep: how many stay; at least 1. With as many rollouts or fewer, all stay.

    Among subsets of equal variance the one with more high rewards wins; ties go to the earlier rollout.
    """
    count = len(rewards)
    if keep >= count:
        return torch.ones(count, dtype=torch.bool)
    order = torch.argsort(rewards, stable=True)
    splits = [torch.cat([order[:low], order[count - keep + low :]]) for low in range(keep + 1)]
    spreads = torch.stack([rewards[s].double().var(correction=0) for s in splits])
    chosen = splits[int(torch.argmax(spreads))]
    mask = torch.zeros(count, dtype=torch.bool)
    mask[chosen] = True
    return mask


def downsampled_advantages(rewards: Tensor, groups: list[str], keep: int, by_std: bool = True) -> Tensor:
    """Return (rollouts,) advantages, zero for rollouts that are not kept.

    Args:
        rewards: (rollouts,) one scalar a rollout.
        groups: prompt of each rollout.
        keep: rollouts kept of each group.
        by_std: divide by the standard deviation of the kept ones.
    """
    advantages = torch.zeros_like(rewards)
    for kept in _kept(rewards, groups, keep):
        centred = rewards[kept] - rewards[kept].mean()
        spread = rewards[kept].std() if len(kept) > 1 else torch.zeros(())
        advantages[kept] = centred / (spread + EPSILON) if by_std else centred
    return advantages


def kept_rows(rewards: Tensor, groups: list[str], keep: int) -> Tensor:
    """Return (rollouts,) bool, the rollouts that `downsampled_advantages` trains on."""
    mask = torch.zeros(len(rewards), dtype=torch.bool)
    for kept in _kept(rewards, groups, keep):
        mask[kept] = True
    return mask


def _kept(rewards: Tensor, groups: list[str], keep: int) -> Iterator[Tensor]:
    """Yield the kept rows of each group."""
    for group in dict.fromkeys(groups):
        rows = torch.tensor([i for i, g in enumerate(groups) if g == group])
        yield rows[widest(rewards[rows], keep)]
