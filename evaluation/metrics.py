"""Rates and means with 95 % intervals, and paired comparisons over the same items.

Rates use Wilson's interval, means a seeded percentile bootstrap over items, two models on the same items the bootstrap
of the per-item difference and, for yes/no outcomes, McNemar's exact test. Nothing to measure gives `value` None, never
0 or 1: an empty set is neither right nor wrong.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

import numpy as np

Z95 = 1.959963984540054
"""97.5 % quantile of the standard normal."""
DRAWS = 4000
"""Bootstrap draws; the interval's ends wobble by well under half a point for 64 items."""


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its 95 % interval, from `n` items."""

    value: float | None
    """None where `n` is 0."""
    low: float | None
    high: float | None
    n: int

    def to_json(self) -> dict[str, Any]:
        """Return `{"value", "low", "high", "n"}`."""
        return asdict(self)


@dataclass(frozen=True)
class Paired:
    """Two models on the same items: `difference` is after minus before."""

    before: float | None
    after: float | None
    difference: Interval
    wins: int
    """Items where after is higher."""
    losses: int
    ties: int
    p_value: float | None
    """Two-sided exact McNemar p for yes/no outcomes; None for graded ones."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return asdict(self)


def wilson(successes: int, n: int) -> Interval:
    """Return a rate with Wilson's score interval; n = 0 gives no value and the interval [0, 1]."""
    if n == 0:
        return Interval(None, 0.0, 1.0, 0)
    p = successes / n
    centre = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n * n))
    return Interval(p, min(p, max(0.0, centre - half)), max(p, min(1.0, centre + half)), n)


def rate(outcomes: Sequence[bool]) -> Interval:
    """Return the share of true outcomes with Wilson's interval."""
    return wilson(sum(outcomes), len(outcomes))


def mean(values: Sequence[float], seed: int = 0, *, shares: bool = False) -> Interval:
    """Return the mean with a percentile bootstrap interval; one value alone gives an interval of no width.

    `shares` says that values lie in [0, 1]: where all are 0 or all are 1, resampling knows no doubt and Wilson's
    interval stands in.
    """
    if not values:
        return Interval(None, None, None, 0)
    if shares and len(set(values)) == 1 and values[0] in (0, 1):
        return wilson(int(values[0]) * len(values), len(values))
    low, high = _bootstrap(np.asarray(values, dtype=float), seed)
    middle = fmean(values)
    return Interval(middle, min(low, middle), max(high, middle), len(values))


def ratio(parts: Sequence[float], wholes: Sequence[float], seed: int = 0) -> Interval:
    """Return Σ parts / Σ wholes, 0 ≤ part ≤ whole, with a percentile bootstrap over the items they belong to.

    Where the sum is none or all, resampling knows no doubt and Wilson's interval over items stands in.
    """
    total, whole = float(sum(parts)), float(sum(wholes))
    if whole == 0:
        return Interval(None, None, None, 0)
    if total in (0.0, whole):
        return wilson(len(parts) if total else 0, len(parts))
    generator = np.random.default_rng(seed)
    tops, bottoms = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    drawn = generator.multinomial(len(parts), np.full(len(parts), 1 / len(parts)), size=DRAWS)
    low, high = np.quantile((drawn @ tops) / np.maximum(drawn @ bottoms, 1e-12), [0.025, 0.975])
    middle = total / whole
    return Interval(middle, min(float(low), middle), max(float(high), middle), len(parts))


def avg_at_k(groups: Sequence[Sequence[float]], seed: int = 0, *, shares: bool = True) -> Interval:
    """Return the mean over items of the mean over each item's samples; items are resampled, not samples.

    Samples of one item are not independent, so n counts items. Items without a sample are left out.
    """
    return mean([fmean(g) for g in groups if g], seed, shares=shares)


def pass_at_k(successes: int, n: int, k: int) -> float:
    """Return the unbiased chance that at least one of k of the n samples succeeds (arXiv 2107.03374); needs k <= n."""
    return 1.0 - math.comb(n - successes, k) / math.comb(n, k)


def pass_hat_k(successes: int, n: int, k: int) -> float:
    """Return the unbiased chance that all of k of the n samples succeed (arXiv 2406.12045); needs k <= n."""
    return math.comb(successes, k) / math.comb(n, k)


def mcnemar_exact(wins: int, losses: int) -> float:
    """Return the two-sided exact p that wins and losses are equally likely; 1 where nothing changed."""
    n = wins + losses
    tail = sum(math.comb(n, i) for i in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / 2**n)


def paired(before: Mapping[str, float], after: Mapping[str, float], *, binary: bool = False, seed: int = 0) -> Paired:
    """Compare two models on the items both have, item by item; items that only one has are left out."""
    shared = sorted(before.keys() & after.keys())
    differences = [float(after[key]) - float(before[key]) for key in shared]
    wins, losses = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    return Paired(
        before=fmean(before[k] for k in shared) if shared else None,
        after=fmean(after[k] for k in shared) if shared else None,
        difference=mean(differences, seed),
        wins=wins,
        losses=losses,
        ties=len(shared) - wins - losses,
        p_value=mcnemar_exact(wins, losses) if binary and shared else None,
    )


def _bootstrap(values: np.ndarray[Any, np.dtype[np.float64]], seed: int) -> tuple[float, float]:
    generator = np.random.default_rng(seed)
    means = np.empty(DRAWS)
    chunk = max(1, 1_000_000 // len(values))
    for start in range(0, DRAWS, chunk):
        rows = min(chunk, DRAWS - start)
        means[start : start + rows] = values[generator.integers(0, len(values), (rows, len(values)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
