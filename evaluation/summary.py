"""Turn judged trajectories of one model into a summary: rates with intervals, breakdowns, one line an item.

Greedy decoding (sample 0) gives `success_rate`, `turn_accuracy`, `call_accuracy`, `reward_mean`; the k sampled episodes
of each item give `avg_at_k`. What the infrastructure failed is counted in `infrastructure` and is in no denominator.
"""
from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environment.core.task import Task
from environment.core.trajectory import Trajectory
from evaluation.judge import Verdict
from evaluation.metrics import Interval, avg_at_k, mean, pass_at_k, pass_hat_k, rate

SUMMARY_VERSION = 1
FEW_ITEMS = 30
"""Fewer items than this get a warning."""


@dataclass(frozen=True)
class Judged:
    """One episode and what it was worth; `verdict` is None when the infrastructure failed it."""

    trajectory: Trajectory
    task: Task
    verdict: Verdict | None

    @property
    def sample(self) -> int:
        """0 greedy, 1… sampled."""
        return int(self.trajectory.meta.get("sample", 0))


def summarise(tasks: Sequence[Task], episodes: Iterable[Judged], samples: int, seed: int = 0) -> dict[str, Any]:
    """Return the summary of `tasks`, `samples` sampled episodes a task expected, as plain JSON."""
    judged = list(episodes)
    valid = [(e, e.verdict) for e in judged if e.verdict is not None]
    greedy = {e.task.id: v for e, v in valid if e.sample == 0}
    sampled: defaultdict[str, list[Verdict]] = defaultdict(list)
    for e, v in valid:
        if e.sample > 0:
            sampled[e.task.id].append(v)
    groups = _Groups(greedy, dict(sampled), seed)
    return {
        "version": SUMMARY_VERSION,
        "n": len(tasks),
        "samples": samples,
        **groups.headline(tasks, samples),
        "infrastructure": len(judged) - len(valid),
        "warnings": _warnings(tasks, judged),
        "by_pattern": groups.by(tasks, lambda t: t.pattern or "-", samples),
        "by_length": groups.by(tasks, lambda t: str(len(t.steps)), samples),
        "stops": _counts(valid, lambda e, _: str(e.trajectory.stop)),
        "faults": _counts(valid, lambda _, v: v.fault),
        "tokens": _tokens(judged),
        "items": [_item(t, greedy.get(t.id), sampled.get(t.id, [])) for t in tasks],
    }


@dataclass(frozen=True)
class _Groups:
    greedy: Mapping[str, Verdict]
    sampled: Mapping[str, Sequence[Verdict]]
    seed: int

    def headline(self, tasks: Sequence[Task], samples: int) -> dict[str, Any]:
        """Return the main figures over some tasks."""
        firsts = [self.greedy[t.id] for t in tasks if t.id in self.greedy]
        several = [self.sampled[t.id] for t in tasks if t.id in self.sampled]
        figures = {"success_rate": rate([v.success for v in firsts]), **self._sampled(several, samples)}
        rewards = [v.reward for v in firsts if v.reward is not None]
        figures |= {
            "turn_accuracy": mean([v.turn_accuracy for v in firsts], self.seed, shares=True),
            "call_accuracy": mean([v.call_accuracy for v in firsts], self.seed, shares=True),
            "reward_mean": mean(rewards, self.seed),
            "calls_mean": mean([float(v.calls) for v in firsts], self.seed),
        }
        return {name: interval.to_json() for name, interval in figures.items()}

    def by(self, tasks: Sequence[Task], key: Callable[[Task], str], samples: int) -> dict[str, Any]:
        """Return success and avg@k for each group of tasks."""
        groups: defaultdict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            groups[key(task)].append(task)
        wanted = ("success_rate", f"avg_at_{samples}", "reward_mean")
        full = {name: self.headline(groups[name], samples) for name in sorted(groups)}
        return {n: {"n": len(groups[n])} | {k: h[k] for k in wanted if k in h} for n, h in full.items()}

    def _sampled(self, groups: Sequence[Sequence[Verdict]], k: int) -> dict[str, Interval]:
        """Return the figures over sampled episodes; pass@k and pass^k only over items that have all k."""
        if not k:
            return {}
        full = [(sum(v.success for v in g), len(g)) for g in groups if len(g) >= k]
        rewards = [[v.reward for v in g if v.reward is not None] for g in groups]
        return {
            f"avg_at_{k}": avg_at_k([[float(v.success) for v in g] for g in groups], self.seed),
            f"pass_at_{k}": mean([pass_at_k(s, n, k) for s, n in full], self.seed, shares=True),
            f"pass_hat_{k}": mean([pass_hat_k(s, n, k) for s, n in full], self.seed, shares=True),
            "sampled_reward_mean": avg_at_k(rewards, self.seed, shares=False),
        }


def _item(task: Task, greedy: Verdict | None, sampled: Sequence[Verdict]) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "pattern": task.pattern,
        "length": len(task.steps),
        "query": task.query,
        "gold": [{"function": s.function, "arguments": s.arguments} for s in task.steps],
        "greedy": None if greedy is None else greedy.to_json(),
        "sampled": [int(v.success) for v in sampled],
        "sampled_reward": [v.reward for v in sampled],
    }


def _counts(
    valid: Sequence[tuple[Judged, Verdict]], name: Callable[[Judged, Verdict], str]
) -> dict[str, dict[str, int]]:
    greedy = Counter(name(e, v) for e, v in valid if e.sample == 0)
    sampled = Counter(name(e, v) for e, v in valid if e.sample > 0)
    return {"greedy": dict(greedy.most_common()), "sampled": dict(sampled.most_common())}


def _tokens(judged: Sequence[Judged]) -> dict[str, int]:
    kinds = ("prompt_tokens", "completion_tokens", "requests")
    return {kind: sum(int(e.trajectory.meta.get(kind) or 0) for e in judged) for kind in kinds}


def _warnings(tasks: Sequence[Task], judged: Sequence[Judged]) -> list[str]:
    found: list[str] = []
    if len(tasks) < FEW_ITEMS:
        points = 100 / max(1, len(tasks)) ** 0.5
        found.append(f"only {len(tasks)} items: differences under {points:.0f} points are noise")
    failed = sum(e.verdict is None for e in judged)
    if failed:
        found.append(f"{failed} episodes failed by infrastructure and are not counted; run again to repeat them")
    return found
