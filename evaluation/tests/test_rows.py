"""Reading held-out rows, in every form a task is stored in."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from environment.core.errors import DataError
from evaluation.rows import read_tasks
from evaluation.tests.support import make_task

TASKS = [make_task(i, 1 + i % 2) for i in range(5)]
FORMS: dict[str, Any] = {
    "bare": lambda t: t.to_json(),
    "under task": lambda t: {"task": t.to_json()},
    "text in extra_info": lambda t: {"extra_info": {"index": 1, "task": json.dumps(t.to_json())}},
    "ground truth": lambda t: {"reward_model": {"style": "rule", "ground_truth": json.dumps(t.to_json())}},
}


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_every_form_give_the_same_tasks(tmp_path: Path, form: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join(json.dumps(FORMS[form](t)) for t in TASKS) + "\n\n", encoding="utf-8")
    assert read_tasks(path) == TASKS
    assert read_tasks(path, 2) == TASKS[:2]


@pytest.mark.parametrize("form", ["text in extra_info", "ground truth"])
def test_parquet_gives_the_same_tasks(tmp_path: Path, form: str) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist([{"data_source": "x", **FORMS[form](t)} for t in TASKS]), path)
    assert read_tasks(path) == TASKS


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "no rows"),
        ("{", "row 1: not JSON"),
        ('{"query": "x"}', "row 1: no task in this row"),
        ("[1]", "row 1: no task in this row"),
        ("3", "row 1: no task in this row"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, content: str, says: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=says):
        read_tasks(path)


def test_the_same_id_twice_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with pytest.raises(DataError, match="no such file"):
        read_tasks(path)
    path.write_text(f"{json.dumps(TASKS[0].to_json())}\n" * 2, encoding="utf-8")
    with pytest.raises(DataError, match="row 2: the same task id twice"):
        read_tasks(path)
