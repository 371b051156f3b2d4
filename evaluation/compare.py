"""Compare models item by item, and gather several runs of one experiment for the table of seeds."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from environment.core.errors import DataError
from evaluation.metrics import Paired, paired

Summary = Mapping[str, Any]
"""A summary as `summarise` makes it."""
PAIRS = (("base", "sft"), ("sft", "rl"), ("base", "rl"))
"""What is compared with what: (before, after)."""


def compare(before: Summary, after: Summary, seed: int = 0) -> dict[str, Paired]:
    """Return the paired differences of two summaries over the items both have, by name of the figure."""
    k = min(int(before.get("samples") or 0), int(after.get("samples") or 0))
    found = {"success_rate": paired(_greedy(before, "success"), _greedy(after, "success"), binary=True, seed=seed)}
    if k:
        found[f"avg_at_{k}"] = paired(_sampled(before), _sampled(after), seed=seed)
    for name in ("turn_accuracy", "call_accuracy", "reward_mean"):
        key = name.removesuffix("_mean")
        found[name] = paired(_greedy(before, key), _greedy(after, key), seed=seed)
    return {name: difference for name, difference in found.items() if difference.difference.n}


def read_summaries(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the summaries of an `eval` folder by name; base, sft and rl first."""
    order = ("base", "sft", "rl")
    found: dict[str, dict[str, Any]] = {}
    for path in folder.glob("*.json"):
        if not path.name.endswith(".settings.json"):
            try:
                row: Any = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise DataError(f"not JSON: {error}", where=str(path)) from error
            if isinstance(row, dict) and "items" in row:
                found[path.stem] = row
    return {n: found[n] for n in sorted(found, key=lambda n: (order.index(n) if n in order else len(order), n))}


def gather_seeds(runs: Sequence[Path]) -> list[dict[str, Any]]:
    """Return one row a run for `seeds.json`: its seed, the figures of each model and the paired differences."""
    rows: list[dict[str, Any]] = []
    for run in runs:
        summaries = read_summaries(run / "eval")
        paths = run / "summary.json"
        about: dict[str, Any] = json.loads(paths.read_text(encoding="utf-8")) if paths.is_file() else {}
        models = {name: headline(s) for name, s in summaries.items()}
        differences = {
            f"{after}-{before}": {k: d.to_json() for k, d in compare(summaries[before], summaries[after]).items()}
            for before, after in PAIRS
            if before in summaries and after in summaries
        }
        rows.append({"seed": about.get("seed"), "run": run.name, "models": models, "paired": differences})
    return rows


def headline(summary: Summary) -> dict[str, Any]:
    """Return the figures of a summary that are estimates with an interval."""
    return {k: v for k, v in summary.items() if isinstance(v, dict) and {"value", "low", "high"} <= v.keys()}


def _greedy(summary: Summary, key: str) -> dict[str, float]:
    items = ((i["task_id"], i["greedy"]) for i in summary["items"] if i.get("greedy"))
    return {task: float(verdict[key]) for task, verdict in items if verdict.get(key) is not None}


def _sampled(summary: Summary) -> dict[str, float]:
    return {i["task_id"]: fmean(i["sampled"]) for i in summary["items"] if i.get("sampled")}
