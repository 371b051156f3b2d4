"""Tasks and tools behind a run: from its parquet, from its summaries, or honestly unknown."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.golds import schemas_of_run, tasks_of_run, tasks_of_summary
from evaluation.tests.support import SCHEMAS, make_task, write_parquet

TASKS = [make_task(n) for n in range(3)]


def test_tasks_are_read_from_both_sets_with_their_edges(tmp_path: Path) -> None:
    write_parquet(tmp_path / "data" / "rl_heldout.parquet", [TASKS[0]])
    write_parquet(tmp_path / "data" / "rl_train.parquet", TASKS[1:])
    found, problems = tasks_of_run(tmp_path)
    assert found == {task.id: task for task in TASKS} and problems == []
    assert set(tasks_of_run(tmp_path, ("heldout",))[0]) == {TASKS[0].id}


def test_a_set_that_cannot_be_read_is_named_and_the_other_is_used(tmp_path: Path) -> None:
    write_parquet(tmp_path / "data" / "rl_train.parquet", [TASKS[0]])
    (tmp_path / "data" / "rl_heldout.parquet").write_bytes(b"no parquet")
    found, problems = tasks_of_run(tmp_path)
    assert set(found) == {TASKS[0].id} and len(problems) == 1
    assert tasks_of_run(tmp_path / "nowhere") == ({}, [])


def test_a_summary_tells_the_gold_calls(tmp_path: Path) -> None:
    gold = [{"function": s.function, "arguments": s.arguments} for s in TASKS[0].steps]
    items = [{"task_id": "a", "query": "q", "gold": gold}, {"task_id": "b"}, {"task_id": "c", "gold": [{"x": 1}]}, 3]
    found = tasks_of_summary({"items": items})
    assert set(found) == {"a"}
    assert [s.arguments for s in found["a"].steps] == [s.arguments for s in TASKS[0].steps]
    assert tasks_of_summary({}) == {}


CONFIGS = ("", "tool_rl: 3", "tool_rl: {task: {schemas: null}}", "{", "tool_rl: {task: {schemas: /no/x}}")


@pytest.mark.parametrize("config", CONFIGS)
def test_without_schemas_of_its_own_a_run_has_ours(tmp_path: Path, config: str) -> None:
    (tmp_path / "config.yaml").write_text(config)
    assert schemas_of_run(tmp_path) == SCHEMAS == schemas_of_run(tmp_path / "nowhere")


def test_a_run_names_its_schemas(tmp_path: Path) -> None:
    tool = {"name": "Ping", "description": "d", "parameters": {"type": "object", "properties": {}}}
    (tmp_path / "tools.json").write_text(json.dumps([tool]))
    (tmp_path / "config.yaml").write_text(f"tool_rl: {{task: {{schemas: {tmp_path / 'tools.json'}}}}}")
    assert set(schemas_of_run(tmp_path)) == {"Ping"}
