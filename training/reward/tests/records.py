"""The reference's records as tasks with typed edges, and their stored responses, for tests that have the data."""
# pyright: basic
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from BFCL.check.flow import scalar_key, scalars
from environment.core.task import Edge, GoldStep, Task

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared"))
FILES = ("bfcl_training_3_per_workflow.jsonl", "eval_100.jsonl")


def records(name: str) -> list[tuple[Task, list[Any]]]:
    """Return (task, responses cut to what is used) of each record; skips the test where the file is absent."""
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"{name}: reference data not there")
    with path.open(encoding="utf-8") as lines:
        return [_read(index, json.loads(line)) for index, line in enumerate(lines)]


def _read(index: int, row: dict[str, Any]) -> tuple[Task, list[Any]]:
    consumed = {scalar_key(v) for s in row["steps"] for _, v in _paths("", s["ground_truth"]["arguments"])}
    responses = [_cut(s["execution_result"]["execution_result"], consumed) for s in row["steps"]]
    steps = tuple(_step(s, responses) for s in row["steps"])
    tools = tuple(dict.fromkeys(t for s in row["steps"] for t in s["candidate_tools"]))
    return Task(f"{row['workflow_id']}-{index}", row["query"], tools, steps), responses


def _cut(response: Any, consumed: set[str]) -> list[Any]:
    """Return the values of a response that some call uses; the rest would only make the tests slow."""
    return [value for value in scalars(response) if scalar_key(value) in consumed]


def _step(row: dict[str, Any], responses: list[Any]) -> GoldStep:
    arguments, producers = row["ground_truth"]["arguments"], row.get("depends_on") or []
    shown = {p: {scalar_key(v) for v in scalars(responses[p])} for p in producers}
    edges = [
        Edge(path, p, "?") for path, v in _paths("", arguments) for p in producers if scalar_key(v) in shown[p]
    ]
    return GoldStep(row["ground_truth"]["function"], arguments, tuple(producers), tuple(edges))


def _paths(head: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _paths(f"{head}.{name}" if head else name, item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _paths(f"{head}[{index}]", item)
    else:
        yield head, value
