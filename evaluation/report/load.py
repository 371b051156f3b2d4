"""Read what a run directory holds. Every part may be missing: a report of half a run is still a report."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environment.core.errors import DataError
from environment.core.trajectory import Trajectory
from evaluation.compare import read_summaries
from evaluation.store import key_of, read_trajectories


@dataclass(frozen=True)
class RunData:
    """A run, read."""

    name: str
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    evaluations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    """Name → summary of `heldout.run`."""
    steps: Sequence[Mapping[str, Any]] = ()
    """One flat mapping of numbers a training step, in order of `step`."""
    seeds: Sequence[Mapping[str, Any]] = ()
    folder: Path = Path()

    def greedy(self, model: str, tasks: set[str]) -> dict[str, Trajectory]:
        """Return the greedy trajectories of some tasks."""
        path = self.folder / "eval" / f"{model}.trajectories.jsonl"
        return {t.task_id: t for t in read_trajectories(path) if t.task_id in tasks and key_of(t)[1] == 0}


def load_run(folder: Path) -> RunData:
    """Read a run directory; DataError where there is none or a file of it is damaged."""
    if not folder.is_dir():
        raise DataError("no such run", where=str(folder))
    seeds: Any = _json(folder / "seeds.json", [])
    return RunData(
        name=folder.resolve().name,
        summary=_json(folder / "summary.json", {}),
        environment=_json(folder / "environment.json", {}),
        evaluations=read_summaries(folder / "eval"),
        steps=_steps(folder / "metrics.jsonl"),
        seeds=seeds.get("runs", []) if isinstance(seeds, dict) else seeds,
        folder=folder,
    )


def _json(path: Path, absent: Any) -> Any:
    if not path.is_file():
        return absent
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"not JSON: {error}", where=str(path)) from error


def _steps(path: Path) -> list[dict[str, Any]]:
    """Return the last row of each step; rows hold numbers at the top or under `data`. Torn lines are left out."""
    if not path.is_file():
        return []
    found: dict[int, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row: Any = json.loads(line)
            step = int(row["step"])
        except (ValueError, KeyError, TypeError):
            continue
        inner = row.get("data")
        flat = {**row, **inner} if isinstance(inner, dict) else row
        numbers = {k: v for k, v in flat.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        found[step] = {**found.get(step, {}), **numbers, "step": step}
    return [found[step] for step in sorted(found)]
