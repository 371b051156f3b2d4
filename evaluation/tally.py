"""Turn judged episodes of one model into a summary: rates with intervals, breakdowns, one line an item.

Greedy decoding (sample 0) gives `success_rate` and the mean of every figure; the k sampled episodes of each item give
`avg_at_k`, `pass_at_k` and `pass_hat_k`. What the infrastructure failed is counted in `infrastructure` and is in no
denominator.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluation.metrics import Interval, avg_at_k, mean, pass_at_k, pass_hat_k, rate
from evaluation.suite import Item, Judged, Outcome

SUMMARY_VERSION = 1
FEW_ITEMS = 30
"""Fewer items than this get a warning."""


@dataclass(frozen=True)
class Figures:
    """Which figures of the outcomes a summary shows, and how."""

    shares: Sequence[str] = ()
    """Names of figures that lie in [0, 1]."""
    amounts: Sequence[str] = ()
    """Names of other figures."""
    sampled: Sequence[str] = ()
    """Figures also averaged over the sampled episodes, as `sampled_NAME`."""
    by: Sequence[str] = ()
    """Figures shown in the breakdowns, beside success."""
    about: Callable[[Item[Any]], Mapping[str, Any]] = field(default=lambda item: dict(item.labels))
    """What the line of an item says of it."""
    few: int = FEW_ITEMS
    """Fewer items than this get a warning."""


def summarise(
    items: Sequence[Item[Any]], episodes: Iterable[Judged], figures: Figures, samples: int, seed: int = 0
) -> dict[str, Any]:
    """Return the summary of `items`, `samples` sampled episodes an item expected, as plain JSON."""
    judged = list(episodes)
    valid = [(e, e.outcome) for e in judged if e.outcome is not None]
    greedy = {e.item.id: v for e, v in valid if e.sample == 0}
    sampled: defaultdict[str, list[Outcome]] = defaultdict(list)
    for e, v in valid:
        if e.sample > 0:
            sampled[e.item.id].append(v)
    groups = _Groups(figures, greedy, dict(sampled), seed)
    labels = dict.fromkeys(label for item in items for label in item.labels)
    return {
        "version": SUMMARY_VERSION,
        "n": len(items),
        "samples": samples,
        **groups.headline(items, samples),
        "infrastructure": len(judged) - len(valid),
        "warnings": _warnings(len(items), figures.few, len(judged) - len(valid)),
        **{f"by_{label}": groups.by(items, label, samples) for label in labels},
        "stops": _counts(valid, lambda e, _: str(e.trajectory.stop)),
        "faults": _counts(valid, lambda _, v: v.fault),
        "tokens": _tokens(judged),
        "items": [groups.line(item) for item in items],
    }


@dataclass(frozen=True)
class _Groups:
    figures: Figures
    greedy: Mapping[str, Outcome]
    sampled: Mapping[str, Sequence[Outcome]]
    seed: int

    def headline(self, items: Sequence[Item[Any]], samples: int) -> dict[str, Any]:
        """Return the main figures over some items."""
        firsts = [self.greedy[i.id] for i in items if i.id in self.greedy]
        several = [self.sampled[i.id] for i in items if i.id in self.sampled]
        found = {"success_rate": rate([v.success for v in firsts]), **self._sampled(several, samples)}
        found |= {n: mean(_known(firsts, n), self.seed, shares=True) for n in self.figures.shares}
        found |= {n: mean(_known(firsts, n), self.seed) for n in self.figures.amounts}
        return {name: interval.to_json() for name, interval in found.items()}

    def by(self, items: Sequence[Item[Any]], label: str, samples: int) -> dict[str, Any]:
        """Return success, avg@k and chosen figures for each group of items."""
        groups: defaultdict[str, list[Item[Any]]] = defaultdict(list)
        for item in items:
            groups[item.labels.get(label, "-")].append(item)
        wanted = ("success_rate", f"avg_at_{samples}", *self.figures.by)
        full = {name: self.headline(groups[name], samples) for name in sorted(groups)}
        return {n: {"n": len(groups[n])} | {k: h[k] for k in wanted if k in h} for n, h in full.items()}

    def line(self, item: Item[Any]) -> dict[str, Any]:
        """Return what is known of one item."""
        greedy, sampled = self.greedy.get(item.id), self.sampled.get(item.id, [])
        return {
            "task_id": item.id,
            **self.figures.about(item),
            "greedy": None if greedy is None else greedy.to_json(),
            "sampled": [int(v.success) for v in sampled],
            **{f"sampled_{n.removesuffix('_mean')}": [v.figures.get(n) for v in sampled] for n in self.figures.sampled},
        }

    def _sampled(self, groups: Sequence[Sequence[Outcome]], k: int) -> dict[str, Interval]:
        """Return the figures over sampled episodes; pass@k and pass^k only over items that have all k."""
        if not k:
            return {}
        full = [(sum(v.success for v in g), len(g)) for g in groups if len(g) >= k]
        more = {n: [_known(g, n) for g in groups] for n in self.figures.sampled}
        return {
            f"avg_at_{k}": avg_at_k([[float(v.success) for v in g] for g in groups], self.seed),
            f"pass_at_{k}": mean([pass_at_k(s, n, k) for s, n in full], self.seed, shares=True),
            f"pass_hat_{k}": mean([pass_hat_k(s, n, k) for s, n in full], self.seed, shares=True),
            **{f"sampled_{n}": avg_at_k(g, self.seed, shares=n in self.figures.shares) for n, g in more.items()},
        }


def _known(outcomes: Iterable[Outcome], name: str) -> list[float]:
    values = (v.figures.get(name) for v in outcomes)
    return [float(value) for value in values if value is not None]


def _counts(
    valid: Sequence[tuple[Judged, Outcome]], name: Callable[[Judged, Outcome], str]
) -> dict[str, dict[str, int]]:
    greedy = Counter(name(e, v) for e, v in valid if e.sample == 0)
    sampled = Counter(name(e, v) for e, v in valid if e.sample > 0)
    return {"greedy": dict(greedy.most_common()), "sampled": dict(sampled.most_common())}


def _tokens(judged: Sequence[Judged]) -> dict[str, int]:
    kinds = ("prompt_tokens", "completion_tokens", "requests")
    return {kind: sum(int(e.trajectory.meta.get(kind) or 0) for e in judged) for kind in kinds}


def _warnings(items: int, few: int, failed: int) -> list[str]:
    found: list[str] = []
    if items < few:
        points = 100 / max(1, items) ** 0.5
        found.append(f"only {items} items: differences under {points:.0f} points are noise")
    if failed:
        found.append(f"{failed} episodes failed by infrastructure and are not counted; run again to repeat them")
    return found
