"""Files with gold: tasks and records of any make are read, and what can't be is named by its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from data_synthesis.records import write_records
from environment.core.errors import DataError
from environment.core.task import GoldStep, Task
from scripts.cli.gold import read_tasks, record_rows, responses_of, task_of

TASK = Task("t-1", "q", ("f",), (GoldStep("f", {"a": 1}, accepted=({"a": 2},)),))
CALL = {"function": "f", "arguments": {"a": 1}}
RECORD: dict[str, Any] = {
    "query": "What is it?",
    "steps": [
        {
            "ground_truth": {**CALL, "accepted": [{"a": 2}]},
            "candidate_tools": ["f"],
            "execution_result": {"execution_result": [1]},
        },
        {"ground_truth": CALL},
    ],
}


@pytest.mark.parametrize("row", [TASK.to_json(), {"task": TASK.to_json()}, {"task": json.dumps(TASK.to_json())}])
def test_a_task_is_read_alone_or_held(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(row) + "\n\n")
    assert list(read_tasks(path)) == [TASK]


@pytest.mark.parametrize("name", ["r.jsonl", "r.pkl"])
def test_a_record_becomes_a_task_with_its_accepted_sets(tmp_path: Path, name: str) -> None:
    write_records(tmp_path / name, [RECORD])
    (task,) = read_tasks(tmp_path / name)
    assert [step.accepted for step in task.steps] == [({"a": 2},), ()]


def test_stored_responses_are_by_step() -> None:
    assert responses_of(RECORD) == [[1], None]


def test_lines_that_are_no_record_are_errors_in_their_place(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('{"a": 1}\n[1]\n{torn\n{"b": 2}\n')
    rows = list(record_rows(path))
    assert [isinstance(row, DataError) for _, row in rows] == [False, True, True, False]
    assert [where.rpartition(" ")[2] for where, _ in rows] == ["1", "2", "3", "4"]
    with pytest.raises(DataError, match="line 1"):
        list(read_tasks(path))


@pytest.mark.parametrize("row", [{}, {"steps": []}, {"steps": [{"function": "f"}]}, {"query": "q", "steps": [5]}])
def test_a_row_without_a_task_is_said(row: dict[str, Any]) -> None:
    with pytest.raises(DataError, match="row 7"):
        task_of(row, None, "row 7")
