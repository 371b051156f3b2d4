"""The pipeline from rewards to advantages: pure functions in a row, each in a module of its own.

    masks ──► base (an estimator of the caller's, on the rollouts that count) ──► turn credit ──► EGPO ──► re-centre
                                                                   (rows, columns): one column a turn, or a single one

Without turn credit, EGPO and re-centring the result is the base, number for number.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from training.advantages.egpo import mean_entropy, shaped
from training.advantages.masks import Selection
from training.advantages.recentre import recentred
from training.advantages.rollouts import Rollouts
from training.advantages.settings import AdvantageSettings
from training.advantages.tokens import spread_over_tokens, tokens_of_turns
from training.advantages.turn_credit import turn_credit

EntropyOf = Callable[[Tensor], tuple[Tensor, Tensor]]
"""From a (rows,) bool mask of the rollouts whose entropy matters to (entropy, scope), both (rows, tokens) float32."""


@dataclass(frozen=True)
class Shaped:
    """Advantages by token, and what shaping did."""

    advantages: Tensor
    """(rows, tokens) float32, 0 where the mask is."""
    metrics: dict[str, float]


def shape(
    rollouts: Rollouts,
    selection: Selection,
    base: Tensor,
    settings: AdvantageSettings,
    entropy: EntropyOf | None = None,
) -> Shaped:
    """Return the advantages of a batch.

    Args:
        base: (rows,) float32, the estimator's advantage of each rollout; anything finite for rows that don't count.
        entropy: asked once, with EGPO on, for the rows whose advantage is not 0; None without EGPO.
    """
    trained = selection.trained
    columns = torch.where(trained, base, 0.0)[:, None]
    metrics: dict[str, float] = {}
    by_turn = settings.turn_credit.enabled
    if by_turn:
        credit = turn_credit(
            rollouts.turn_rewards, rollouts.reached, rollouts.group, selection.counted & ~rollouts.padding,
            settings.turn_credit,
        )  # fmt: skip
        credit = torch.where(trained[:, None], credit, 0.0)
        metrics["turn_credit"] = _mean(credit.abs(), rollouts.reached & trained[:, None])
        columns = torch.cat([columns, columns + credit], 1)
    if settings.egpo.enabled and entropy is not None:
        before, live = columns, (columns != 0).any(1)
        columns, more = _with_entropy(columns, live, entropy, rollouts.group, settings)
        metrics |= more | {"egpo/bonus": _mean((columns - before).abs(), live[:, None].expand_as(columns))}
    if settings.recentre:
        ones = rollouts.mask.sum(-1, keepdim=True)
        tokens = tokens_of_turns(rollouts.mask, rollouts.spans) if by_turn else ones
        columns = recentred(columns, tokens, rollouts.group, trained & ~rollouts.padding)
    mask = rollouts.mask
    return Shaped(spread_over_tokens(columns, rollouts.spans, mask) if by_turn else columns * mask, metrics)


def _with_entropy(
    columns: Tensor, live: Tensor, entropy: EntropyOf, group: Tensor, settings: AdvantageSettings
) -> tuple[Tensor, dict[str, float]]:
    values, scope = entropy(live)
    mean, counts = mean_entropy(values, scope)
    thinks = live & (counts > 0)
    clipped = mean[:, None] > columns.abs() / settings.egpo.alpha
    metrics = {
        "egpo/entropy": _mean(mean, thinks),
        "egpo/without_scope": _mean((counts == 0).float(), live),
        "egpo/clipped": _mean(clipped.float(), thinks[:, None].expand_as(clipped)),
    }
    return shaped(columns, mean, thinks, group, settings.egpo), metrics


def _mean(values: Tensor, where: Tensor) -> float:
    return float(torch.where(where, values, 0.0).sum() / where.sum().clamp_min(1))
