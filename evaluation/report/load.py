"""Read what a run directory holds. Every part may be missing: a report of half a run is still a report."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environment.core.errors import DataError
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from evaluation.compare import read_summaries
from evaluation.golds import schemas_of_run, tasks_of_run, tasks_of_summary
from evaluation.report.domains import with_domains
from evaluation.report.errors import Tally, tally
from evaluation.store import key_of, read_trajectories

HELDOUT = "heldout"
"""The suite of the main job; summaries that name no suite are of it."""


@dataclass(frozen=True)
class RunData:
    """A run, read."""

    name: str
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: Mapping[str, Any] = field(default_factory=dict[str, Any])
    evaluations: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Any])
    """Name → summary on the held-out tasks."""
    suites: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(default_factory=dict[str, Any])
    """Other suite → name → summary."""
    tallies: Mapping[str, Tally] = field(default_factory=dict[str, Tally])
    """Name → mistakes on the held-out tasks, where trajectories and gold chains are at hand."""
    steps: Sequence[Mapping[str, Any]] = ()
    """One flat mapping of numbers a training step, in order of `step`."""
    seeds: Sequence[Mapping[str, Any]] = ()
    folder: Path = Path()

    @property
    def everything(self) -> dict[str, Mapping[str, Any]]:
        """All summaries, those of other suites called by suite and name."""
        others = {f"{suite} {name}": s for suite, found in self.suites.items() for name, s in found.items()}
        return {**self.evaluations, **others}

    def greedy(self, model: str, tasks: set[str]) -> dict[str, Trajectory]:
        """Return the greedy trajectories of some tasks."""
        path = evaluations_in(self.folder) / f"{model}.trajectories.jsonl"
        return {t.task_id: t for t in read_trajectories(path) if t.task_id in tasks and key_of(t)[1] == 0}


def load_run(folder: Path) -> RunData:
    """Read a run directory; DataError where there is none or a file of it is damaged."""
    if not folder.is_dir():
        raise DataError("no such run", where=str(folder))
    seeds: Any = _json(folder / "seeds.json", [])
    by_suite = _by_suite(read_summaries(evaluations_in(folder)))
    tasks, _ = tasks_of_run(folder, ("heldout",))
    evaluations = {name: with_domains(s, tasks) for name, s in by_suite.pop(HELDOUT, {}).items()}
    return RunData(
        name=folder.resolve().name,
        summary=_json(folder / "summary.json", {}),
        environment=_json(folder / "environment.json", {}),
        evaluations=evaluations,
        suites=by_suite,
        tallies=_tallies(folder, evaluations, tasks),
        steps=_steps(folder / "metrics.jsonl"),
        seeds=seeds.get("runs", []) if isinstance(seeds, dict) else seeds,
        folder=folder,
    )


def evaluations_in(folder: Path) -> Path:
    """Return where the summaries of a run lie: RUN/eval, or the folder itself where `tool-rl eval` wrote to it."""
    return folder / "eval" if (folder / "eval").is_dir() else folder


def suite_of(summary: Mapping[str, Any]) -> str:
    """Return which suite a summary is of, as it or its settings say."""
    settings: Any = summary.get("settings")
    named = summary.get("suite") or (settings.get("suite") if isinstance(settings, dict) else None)
    return named if isinstance(named, str) else HELDOUT


def _by_suite(summaries: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Mapping[str, Any]]]:
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, summary in summaries.items():
        found.setdefault(suite_of(summary), {})[name] = summary
    return found


def _tallies(
    folder: Path, evaluations: Mapping[str, Mapping[str, Any]], tasks: Mapping[str, Task]
) -> dict[str, Tally]:
    """Count the mistakes of each evaluation; tasks whose edges are not at hand are known by their gold calls."""
    schemas = schemas_of_run(folder)
    found: dict[str, Tally] = {}
    for name, summary in evaluations.items():
        trajectories = read_trajectories(evaluations_in(folder) / f"{name}.trajectories.jsonl")
        counted = tally(trajectories, {**tasks_of_summary(summary), **tasks}, schemas)
        if counted is not None:
            found[name] = counted
    return found


def _json(path: Path, absent: Any) -> Any:
    if not path.is_file():
        return absent
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise DataError(f"not JSON: {error}", where=str(path)) from error


def _steps(path: Path) -> list[dict[str, Any]]:
    """Return the last row of each step; rows hold numbers at the top, under `data` or verl's own under `verl`.

    Torn lines are left out, and what stands at the top goes before what stands below.
    """
    if not path.is_file():
        return []
    found: dict[int, dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            row: Any = json.loads(line)
            step = int(row["step"])
        except (ValueError, KeyError, TypeError):
            continue
        inner = [part for name in ("verl", "data") if isinstance(part := row.get(name), dict)]
        flat = {k: v for part in (*inner, row) for k, v in part.items()}
        numbers = {k: v for k, v in flat.items() if isinstance(v, int | float) and not isinstance(v, bool)}
        found[step] = {**found.get(step, {}), **numbers, "step": step}
    return [found[step] for step in sorted(found)]
