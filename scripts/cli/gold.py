"""Files with gold in them, read row by row for the commands that need no model: tasks, or records that become tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from data_synthesis.records import PICKLE_SUFFIXES, read_records
from data_synthesis.tasks import task_from_record
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Task
from evaluation.rows import read_tasks as read_task_rows
from scripts.cli.check import input_lines

Schemas = Mapping[str, ToolSchema]


def read_tasks(path: Path) -> Iterator[Task]:
    """Yield the tasks of a file: parquet or JSON Lines of tasks, or records in `.jsonl` or `.pkl`.

    Raises:
        DataError: the file or a row of it can't be read.
    """
    if path.suffix == ".parquet":
        yield from read_task_rows(path)
        return
    for where, row in record_rows(path):
        if isinstance(row, DataError):
            raise row
        yield task_of(row, None, where)


def record_rows(path: Path) -> Iterator[tuple[str, dict[str, Any] | DataError]]:
    """Yield each row of a file with its place; a line that is no JSON object is an error in its place."""
    if path.suffix in PICKLE_SUFFIXES:
        yield from ((f"{path} record {number}", row) for number, row in enumerate(read_records(path), 1))
        return
    for number, line in enumerate(input_lines(str(path)), 1):
        if line.strip():
            where = f"{path} line {number}"
            yield where, _object(line, where)


def task_of(row: Mapping[str, Any], schemas: Schemas | None, where: str) -> Task:
    """Return the task of a row: one written by `Task.to_json`, alone or under `task`, or that of a record."""
    held = row.get("task") or row
    if isinstance(held, str):
        held = json.loads(held)
    steps = cast("Mapping[str, Any]", held).get("steps")
    if steps and isinstance(steps, list) and isinstance(steps[0], dict) and "function" in steps[0]:
        try:
            return Task.from_json(held)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"no task ({type(error).__name__}: {error})", where=where) from error
    return task_from_record(row, schemas, where=where)


def responses_of(row: Mapping[str, Any]) -> list[Any]:
    """Return the stored response of each step of a record, None where it has none."""
    outcomes = [step.get("execution_result") for step in row["steps"]]
    return [o.get("execution_result") if isinstance(o, dict) else None for o in outcomes]


def _object(line: bytes, where: str) -> dict[str, Any] | DataError:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return DataError(f"the line is no JSON ({str(error)[:100]})", where=where)
    if not isinstance(row, dict):
        return DataError("the line is no record", where=where, got=type(row).__name__, expected="a JSON object")
    return row
