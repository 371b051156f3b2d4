"""The tasks and tools behind a run's trajectories, looked up where the run keeps them.

    RUN/data/rl_heldout.parquet, rl_train.parquet   whole tasks, with the edges between steps
    RUN/eval/NAME.json                              the gold calls of its items, where no parquet has them
    RUN/config.yaml                                 which tool schemas the run used

All of it may be missing: then nothing is known of a task, and that is said, not guessed.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from environment.booking.schemas import load_schemas
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from evaluation.rows import read_tasks

SPLITS = ("heldout", "train")


def tasks_of_run(run: Path, splits: Iterable[str] = SPLITS) -> tuple[dict[str, Task], list[str]]:
    """Return the tasks of a run's RL sets by id, and what could not be read, in words."""
    found: dict[str, Task] = {}
    problems: list[str] = []
    for split in splits:
        path = run / "data" / f"rl_{split}.parquet"
        if not path.is_file():
            continue
        try:
            found |= {task.id: task for task in read_tasks(path)}
        except (DataError, OSError, ValueError, ImportError) as error:
            problems.append(str(error))
    return found, problems


def tasks_of_summary(summary: Mapping[str, Any]) -> dict[str, Task]:
    """Return the tasks as far as an evaluation's items tell: query, pattern and gold calls, no edges."""
    items: Any = summary.get("items")
    tasks = (_task(item) for item in items or () if isinstance(item, Mapping))
    return {task.id: task for task in tasks if task is not None}


def schemas_of_run(run: Path) -> dict[str, ToolSchema]:
    """Return the tool schemas that the run's configuration names, our own where it names none that can be read."""
    named = _named_schemas(run / "config.yaml")
    if named is not None and named.is_file():
        try:
            return load_schemas(named)
        except DataError:
            return load_schemas()
    return load_schemas()


def _task(item: Mapping[str, Any]) -> Task | None:
    gold: Any = item.get("gold")
    try:
        steps = tuple(GoldStep(str(s["function"]), dict(s["arguments"])) for s in gold or ())
        return Task(str(item["task_id"]), str(item.get("query") or ""), (), steps) if steps else None
    except (KeyError, TypeError, ValueError):
        return None


def _named_schemas(config: Path) -> Path | None:
    import yaml

    try:
        read: Any = yaml.safe_load(config.read_text(encoding="utf-8"))
        named: Any = read["tool_rl"]["task"]["schemas"]
    except (OSError, ValueError, yaml.YAMLError, KeyError, TypeError):
        return None
    return Path(named) if isinstance(named, str) and named else None
