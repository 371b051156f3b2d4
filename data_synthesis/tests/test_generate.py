"""The reference's synthesis command: its flags, its file, and one message for each mistake."""
from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from data_synthesis.generate_bfcl_training_data import main
from data_synthesis.records import read_records
from data_synthesis.tasks import task_from_record
from data_synthesis.templates.load import load_patterns
from environment.booking.schemas import load_schemas
from environment.server.endpoint.tests.scripted import FakeEndpoint, failed, said

SCHEMAS = load_schemas()


def test_the_reference_flags_make_a_pickle_of_records(
    world_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "data" / "bfcl_training.pkl"
    flags = ["--world", str(world_path), "--output", str(output), "--target-size", "20", "--num-distractors", "2"]
    flags += ["--sampling-strategy", "frequency_weighted", "--random-seed", "4", "--candidate-tools", "9", "--verbose"]
    assert main(flags) == 0
    assert "20 of 20 records" in capsys.readouterr().out
    tasks = [task_from_record(row, SCHEMAS) for row in read_records(output)]
    assert len(tasks) == 20
    for task in tasks:
        assert len(task.tools) == len({step.function for step in task.steps}) + 2
    card = json.loads((output.parent / "bfcl_training.card.json").read_text())
    assert card["files"][0]["name"] == "bfcl_training.pkl" and card["about"]["seed"] == 4
    first = output.read_bytes()
    main(flags)
    assert output.read_bytes() == first


def test_so_many_queries_for_each_workflow(world_path: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    assert main(["--world", str(world_path), "--output", str(output), "--queries-per-workflow", "2"]) == 0
    made = Counter(row["workflow_id"] for row in read_records(output))
    known = {pattern.id for pattern in load_patterns(SCHEMAS)}
    assert set(made) <= known and len(made) > 0.8 * len(known)
    assert max(made.values()) <= 4


def test_a_model_may_word_the_queries(world_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def polite(body: dict, number: int) -> tuple:
        return said(json.dumps({"query": "Hello there. " + json.loads(body["messages"][1]["content"])["example"]}))

    flags = ["--world", str(world_path), "--output", str(tmp_path / "rows.jsonl"), "--target-size", "10"]
    with FakeEndpoint(polite) as fake:
        assert main([*flags, "--model", "m", "--base-url", fake.url]) == 0
    assert "queries worded by m" in capsys.readouterr().out
    assert any(row["query"].startswith("Hello there. ") for row in read_records(tmp_path / "rows.jsonl"))
    with FakeEndpoint(lambda body, number: failed(401, "bad key")) as fake:
        assert main([*flags, "--model", "other", "--base-url", fake.url]) == 1
    assert "valid key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--target-size", "3", "--queries-per-workflow", "1"], "two sizes"),
        (["--target-size", "0"], "at least 1"),
        (["--num-distractors", "-1"], "at least 0"),
        (["--workflow-templates", "workflow_templates.json"], "no folder"),
        (["--world", "missing.db"], "missing.db"),
        (["--output", "rows.csv"], "rows.csv"),
    ],
)
def test_each_mistake_is_one_message(
    world_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], told: str
) -> None:
    given = flags if "--world" in flags else ["--world", str(world_path), *flags]
    given = given if "--output" in flags else [*given, "--output", str(tmp_path / "rows.jsonl")]
    sized = any("size" in flag or "queries" in flag for flag in flags)
    assert main(given if sized else [*given, "--target-size", "2"]) > 0
    shown = capsys.readouterr()
    assert told in shown.err and "Traceback" not in shown.err
    assert not (tmp_path / "rows.jsonl").exists()
