"""Success by domain, from the items of a summary and the tasks that say which domain each is of."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from environment.core.task import Task
from evaluation.metrics import avg_at_k, rate


def with_domains(summary: Mapping[str, Any], tasks: Mapping[str, Task]) -> Mapping[str, Any]:
    """Return a summary with `by_domain`: the one it has, or one counted from its items where the tasks are known."""
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for item in summary["items"]:
        task = tasks.get(item.get("task_id"))
        if task is not None and task.domain:
            groups[task.domain].append(item)
    if summary.get("by_domain") or not groups:
        return summary
    return {**summary, "by_domain": {name: _figures(groups[name]) for name in sorted(groups)}}


def _figures(items: list[Mapping[str, Any]]) -> dict[str, Any]:
    greedy = [bool(item["greedy"]["success"]) for item in items if item.get("greedy")]
    sampled = [[float(s) for s in item["sampled"]] for item in items if item.get("sampled")]
    row: dict[str, Any] = {"n": len(items), "success_rate": rate(greedy).to_json()}
    if sampled:
        row[f"avg_at_{max(map(len, sampled))}"] = avg_at_k(sampled).to_json()
    return row
