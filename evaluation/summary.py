"""The summary of held-out tasks: `tally` over verdicts, with reward and number of calls."""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from environment.core.task import Task
from environment.core.trajectory import Trajectory
from evaluation import suite, tally
from evaluation.judge import Verdict


@dataclass(frozen=True)
class Judged:
    """One episode of a task and what it was worth; `verdict` is None when the infrastructure failed it."""

    trajectory: Trajectory
    task: Task
    verdict: Verdict | None


def summarise(tasks: Sequence[Task], episodes: Iterable[Judged], samples: int, seed: int = 0) -> dict[str, Any]:
    """Return the summary of `tasks`, `samples` sampled episodes a task expected, as plain JSON."""
    items = {t.id: task_item(t) for t in tasks}
    judged = (suite.Judged(items[e.task.id], e.trajectory, e.verdict) for e in episodes)
    return tally.summarise(list(items.values()), judged, FIGURES, samples, seed)


def task_item(task: Task) -> suite.Item[Task]:
    """Return a task as an item, by pattern and length of its chain."""
    return suite.Item(task.id, task, {"pattern": task.pattern or "-", "length": str(len(task.steps))})


def _about(item: suite.Item[Task]) -> dict[str, Any]:
    task = item.case
    return {
        "pattern": task.pattern,
        "length": len(task.steps),
        "query": task.query,
        "gold": [{"function": s.function, "arguments": s.arguments} for s in task.steps],
    }


FIGURES = tally.Figures(
    shares=("turn_accuracy", "call_accuracy"),
    amounts=("reward_mean", "calls_mean"),
    sampled=("reward_mean",),
    by=("reward_mean",),
    about=_about,
)
"""What the summary of held-out tasks shows."""
