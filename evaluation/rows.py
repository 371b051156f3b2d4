"""Read the tasks of a held-out set: parquet as `preprocess` writes it, or JSON Lines of tasks."""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from environment.core.errors import DataError
from environment.core.task import Task


def read_tasks(path: Path, limit: int | None = None) -> list[Task]:
    """Return the tasks of a file in order, the first `limit` of them; ids must differ.

    A row is a task itself, or holds one, as an object or as JSON text, under `task`, `extra_info.task` or
    `reward_model.ground_truth`.
    """
    if not path.is_file():
        raise DataError("no such file", where=str(path), expected="held-out rows, .parquet or .jsonl")
    rows = _parquet(path) if path.suffix == ".parquet" else _lines(path)
    tasks: dict[str, Task] = {}
    for number, row in rows:
        if limit is not None and len(tasks) >= limit:
            break
        task = _task(row, f"{path} row {number}")
        if task.id in tasks:
            raise DataError("the same task id twice", where=f"{path} row {number}", got=task.id)
        tasks[task.id] = task
    if not tasks:
        raise DataError("no rows", where=str(path))
    return list(tasks.values())


def _lines(path: Path) -> Iterator[tuple[int, Any]]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    yield number, json.loads(line)
                except ValueError as error:
                    raise DataError(f"not JSON: {error}", where=f"{path} row {number}", got=line) from error


def _parquet(path: Path) -> Iterator[tuple[int, Any]]:
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    wanted = [c for c in ("task", "extra_info", "reward_model") if c in file.schema_arrow.names]
    number = 0
    for batch in file.iter_batches(columns=wanted):
        for row in batch.to_pylist():
            number += 1
            yield number, row


def _task(row: Any, where: str) -> Task:
    try:
        return Task.from_json(_find(row))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        fix = "give the RL parquet that `tool-rl preprocess` wrote, or one task object a line"
        raise DataError(f"no task in this row ({type(error).__name__}: {error})", where=where, fix=fix) from error


def _find(row: Mapping[str, Any]) -> Mapping[str, Any]:
    held = row.get("task") or (row.get("extra_info") or {}).get("task")
    held = held or (row.get("reward_model") or {}).get("ground_truth") or row
    return json.loads(held) if isinstance(held, str) else held
