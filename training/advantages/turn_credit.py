"""Credit by turn: what a rollout went on to earn from a turn, against others in its place.

    G_{i,t} = sum_{k >= t} gamma^(k-t) r_{i,k}          return-to-go of turn t of rollout i
    C_{i,t} = G_{i,t} - mean_{j != i} G_{j,t}           added, times `weight`, to the advantage of the turn's tokens

The baseline holds nothing that rollout i does at turn t or later, so the policy gradient stays unbiased, also for the
choice to stop. Centring each turn's reward by the mean *of that turn index* and summing afterwards, as is often done,
subtracts a number of terms that the rollout's own stopping decides: a hidden price on every further turn (verl issue
7244). Which others stand in the mean:

* `reached`: those that reached turn t; where nobody else did, the credit is 0, which only scales such turns down;
* `padded`: all others, with 0 after their end;
* `episode`: all others by their whole return, one credit for every turn of the rollout.

Degenerate cases: a group of one, rewards equal everywhere with `padded` lengths equal, and weight 0 all give 0.
"""
from __future__ import annotations

import torch
from torch import Tensor

from training.advantages.groups import mean_of_others
from training.advantages.settings import TurnCreditSettings


def return_to_go(rewards: Tensor, gamma: float) -> Tensor:
    """Return (rows, turns) float64 discounted sums of each turn's reward and those after it."""
    total = rewards.double().clone()
    for turn in range(rewards.shape[1] - 2, -1, -1):
        total[:, turn] += gamma * total[:, turn + 1]
    return total


def turn_credit(
    rewards: Tensor, reached: Tensor, group: Tensor, counted: Tensor, settings: TurnCreditSettings
) -> Tensor:
    """Return (rows, turns) float32 credits, 0 for turns not reached and for rows not counted.

    Args:
        rewards: (rows, turns) rewards by turn, 0 beyond a rollout's end.
        reached: (rows, turns) bool, turns that were taken.
        group: (rows,) int64 group numbers.
        counted: (rows,) bool, rows that others are compared with.
    """
    returns = return_to_go(rewards, settings.gamma)
    here = counted[:, None] & reached
    if settings.baseline == "episode":
        returns = returns[:, :1].expand_as(returns)
    compared = here if settings.baseline == "reached" else counted[:, None].expand_as(here)
    baseline, others = mean_of_others(returns, group, compared)
    return torch.where(here & others, settings.weight * (returns - baseline), 0.0).float()
