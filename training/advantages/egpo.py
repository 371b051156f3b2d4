"""EGPO: group-relative advantages shaped by the entropy of the chain of thought.

    A'_i = A_i + lam * clip(H_i, -|A_i| / alpha, +|A_i| / alpha)          arXiv 2508.05118v4, lam 0.4, alpha 2

A_i is the group-relative advantage of rollout i, H_i the mean token entropy (nats, of the whole vocabulary, under the
policy that sampled) over its tokens in scope, pooled over its turns. H is at least 0, so the bonus is too: right
answers get up to 1 + lam/alpha times their advantage, wrong ones are punished down to 1 - lam/alpha. With alpha > 1 no
sign changes. The bonus is a constant to the gradient; the entropy loss stays 0.

Degenerate cases: no token in scope (an unclosed or absent chain of thought) and a group without spread (A = 0) give no
bonus; EGPO does not revive dead groups. The group no longer sums to zero; `recentre` takes the drift off.

Other shapes: `tanh` is the smooth bound |A|/alpha * tanh(alpha H / |A|), as version 1 leaves its bounded term open;
`ratio` multiplies by clip(mean H of the group / H_i, 1 -+ lam/alpha), which damps the rollouts less sure than others.
"""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from training.advantages.groups import group_mean
from training.advantages.settings import EgpoSettings


def mean_entropy(entropy: Tensor, scope: Tensor) -> tuple[Tensor, Tensor]:
    """Return each rollout's mean entropy over its tokens in scope, 0 without any, and the number of these tokens.

    Args:
        entropy: (rows, tokens) float32, nats, finite everywhere.
        scope: (rows, tokens) float32, 1 for a token in scope, else 0.
    """
    counts = scope.sum(-1)
    total = (entropy * scope).sum(-1)
    return total / counts.clamp_min(1), counts


def shaped(advantages: Tensor, entropy: Tensor, has_scope: Tensor, group: Tensor, settings: EgpoSettings) -> Tensor:
    """Return the advantages with their entropy term.

    Args:
        advantages: (rows, columns) float32, one column a turn, or a single one.
        entropy: (rows,) mean entropy in nats, at least 0.
        has_scope: (rows,) bool, rows with a token in scope; the others keep their advantages.
        group: (rows,) int64 group numbers.
    """
    changed = _SHAPES[settings.shape](advantages, entropy, has_scope, group, settings)
    return torch.where(has_scope[:, None], changed, advantages)


def _clip(advantages: Tensor, entropy: Tensor, _scope: Tensor, _group: Tensor, settings: EgpoSettings) -> Tensor:
    bound = advantages.abs() / settings.alpha
    return advantages + settings.lam * entropy[:, None].clamp(-bound, bound)


def _tanh(advantages: Tensor, entropy: Tensor, _scope: Tensor, _group: Tensor, settings: EgpoSettings) -> Tensor:
    bound = advantages.abs() / settings.alpha
    steep = entropy[:, None] / bound.clamp_min(torch.finfo(bound.dtype).tiny)
    return advantages + settings.lam * bound * torch.tanh(steep)


def _ratio(advantages: Tensor, entropy: Tensor, scope: Tensor, group: Tensor, settings: EgpoSettings) -> Tensor:
    mean = group_mean(entropy, group, scope).to(entropy.dtype)
    most = settings.lam / settings.alpha
    factor = (mean / entropy.clamp_min(torch.finfo(entropy.dtype).tiny)).clamp(1 - most, 1 + most)
    return advantages * torch.where(entropy > 0, factor, 1.0)[:, None]


_SHAPES: dict[str, Callable[[Tensor, Tensor, Tensor, Tensor, EgpoSettings], Tensor]] = {
    "clip": _clip,
    "tanh": _tanh,
    "ratio": _ratio,
}
