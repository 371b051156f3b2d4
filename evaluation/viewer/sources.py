"""Which files a path means, and what lies beside them: a run, a folder of rollouts, or one file of trajectories."""
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment.core.errors import ConfigError, DataError, nearest_name
from evaluation.viewer.facts import Outcomes

ENDING = ".trajectories.jsonl"


@dataclass(frozen=True)
class Source:
    """What is looked at."""

    path: Path
    """As it was named: a run folder, a folder of JSON Lines, or a file."""
    run: Path | None
    """The run it belongs to, where it belongs to one."""

    def files(self) -> list[Path]:
        """Return the files of trajectories there are now, rollouts by step first, then evaluations by name."""
        if not self.path.is_dir():
            return [self.path]
        if self.run == self.path:
            return [*_lines(self.path / "rollouts"), *_lines(self.path / "eval")]
        return list(_lines(self.path))

    def title(self, file: Path) -> str:
        """Return a file's name as people read it: relative to what was named, without its ending."""
        name = file.relative_to(self.path).as_posix() if self.path.is_dir() else file.name
        return name.removesuffix(ENDING).removesuffix(".jsonl")


def find_source(path: Path) -> Source:
    """Return what a path means.

    Raises:
        ConfigError: nothing is there; names what is nearest.
        DataError: a folder without trajectories, or a file that can't be read.
    """
    if not path.exists():
        raise ConfigError(
            "nothing is there", where=str(path), nearest=_nearest(path),
            fix="name a run folder, its rollouts or eval folder, or a .jsonl file of trajectories",
        )  # fmt: skip
    source = Source(path, _run_of(path))
    if path.is_dir() and source.run != path and not source.files():
        raise DataError(
            "no trajectories in this folder", where=str(path), expected="rollouts/, eval/ or files ending in .jsonl",
            fix="name a run folder (runs/NAME), its rollouts or eval folder, or one .jsonl file",
        )  # fmt: skip
    return source


def outcomes_of(file: Path) -> Outcomes:
    """Return what the summary beside an evaluation's trajectories says of each; empty where there is none."""
    path = summary_of(file)
    summary = summary_at(path) if path is not None else {}
    try:
        return dict(_outcomes(summary.get("items") or []))
    except (KeyError, TypeError, AttributeError):
        return {}


def summary_of(file: Path) -> Path | None:
    """Return where the summary of an evaluation's trajectories would be; None for other files."""
    if not file.name.endswith(ENDING):
        return None
    return file.with_name(f"{file.name.removesuffix(ENDING)}.json")


def summary_at(path: Path) -> dict[str, Any]:
    """Return a summary; empty where there is none yet or the file holds something else."""
    try:
        summary: Any = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return summary if isinstance(summary, dict) else {}


def _outcomes(items: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, int], tuple[bool, float | None]]]:
    """Yield the outcomes of greedy episodes, and of sampled ones where none of them is missing."""
    most = max((len(item.get("sampled") or ()) for item in items), default=0)
    for item in items:
        task, greedy, sampled = item["task_id"], item.get("greedy"), item.get("sampled") or []
        if greedy:
            yield (task, 0), (bool(greedy["success"]), greedy.get("reward"))
        rewards = item.get("sampled_reward") or []
        if len(sampled) == most:
            for sample, success in enumerate(sampled):
                yield (task, sample + 1), (bool(success), rewards[sample] if len(rewards) == most else None)


def _lines(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(p for p in folder.iterdir() if p.suffix == ".jsonl" and p.is_file() and p.name[0] != ".")


def _run_of(path: Path) -> Path | None:
    """Return the folder that looks like a run: the path itself, or one of the two above it."""
    return next((folder for folder in (path, *path.absolute().parents[:2]) if _is_run(folder)), None)


def _is_run(folder: Path) -> bool:
    files, folders = ("config.yaml", "metrics.jsonl"), ("rollouts", "eval")
    return any((folder / name).is_file() for name in files) or any((folder / name).is_dir() for name in folders)


def _nearest(path: Path) -> str | None:
    if not path.parent.is_dir():
        return None
    found = nearest_name(path.name, (p.name for p in path.parent.iterdir()))
    return str(path.with_name(found)) if found else None
