"""Parquet: what training reads is what the session would show, and bad rows are named and counted."""
from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from data_synthesis import preprocess_bfcl_for_rl, preprocess_bfcl_for_sft
from data_synthesis.preprocess import preprocess_rl, preprocess_sft
from data_synthesis.preprocess.rl import RL_SCHEMA
from data_synthesis.preprocess.sft import SFT_SCHEMA
from data_synthesis.records import read_records, write_records
from data_synthesis.synth import synthesise
from environment.cache.store import CachedWorld
from environment.core.errors import DataError
from environment.core.task import Task
from environment.session.observation import ObservationCut
from environment.session.prompt import gold_messages, opening_messages, tool_functions


@pytest.fixture(scope="module")
def rows(world_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rows")
    synthesise(world_path, None, out, 24, 6, 0, observation_chars=260)
    return out / "train.jsonl"


def table(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def test_rl_rows_are_native_and_hold_the_task(rows: Path, tmp_path: Path) -> None:
    report = preprocess_rl(rows, tmp_path / "rl.parquet")
    assert (report.read, report.written, report.bad) == (24, 24, [])
    assert pq.read_schema(tmp_path / "rl.parquet").equals(RL_SCHEMA)
    for number, row in enumerate(table(tmp_path / "rl.parquet")):
        task = Task.from_json(json.loads(row["extra_info"]["task"]))
        assert row["prompt"] == opening_messages(task)
        assert row["reward_model"]["ground_truth"] == row["extra_info"]["task"]
        assert json.loads(row["candidate_tools"]) == list(task.tools)
        assert row["extra_info"] | {"task": ""} == {
            "index": number, "task": "", "task_id": task.id, "workflow_id": task.pattern, "num_steps": len(task.steps),
        }  # fmt: skip


def test_pickle_and_jsonl_give_the_same_rows(rows: Path, tmp_path: Path) -> None:
    preprocess_rl(rows, tmp_path / "a.parquet")
    preprocess_rl(rows.with_suffix(".pkl"), tmp_path / "b.parquet")
    assert table(tmp_path / "a.parquet") == table(tmp_path / "b.parquet")


def test_sft_rows_are_the_dialogue_of_the_session_and_end_in_an_answer(
    rows: Path, world_path: Path, world: CachedWorld, tmp_path: Path
) -> None:
    preprocess_rl(rows, tmp_path / "rl.parquet")
    preprocess_sft(
        rows, world_path, tmp_path / "sft.parquet", observation_chars=260, output_jsonl=tmp_path / "sft.jsonl"
    )
    assert pq.read_schema(tmp_path / "sft.parquet").equals(SFT_SCHEMA)
    pairs = zip(
        table(tmp_path / "rl.parquet"),
        table(tmp_path / "sft.parquet"),
        read_records(tmp_path / "sft.jsonl"),
        strict=True,
    )
    for rl, sft, line in pairs:
        task = Task.from_json(json.loads(rl["extra_info"]["task"]))
        messages = json.loads(sft["messages"])
        assert messages == line["messages"] == gold_messages(task, world, ObservationCut(limit_chars=260))
        assert json.loads(sft["tools"]) == line["tools"] == tool_functions(task, world.schemas)
        assert messages[: len(rl["prompt"])] == rl["prompt"]
        assert messages[-1] == {"role": "assistant", "content": task.answer}
        assert [m["role"] for m in messages].count("tool") == len(task.steps) == sft["num_steps"]


def test_observations_are_cut_by_the_counter_that_is_given(rows: Path, world_path: Path, tmp_path: Path) -> None:
    preprocess_sft(rows, world_path, tmp_path / "sft.parquet", 30, lambda text: len(text) // 5)
    for row in table(tmp_path / "sft.parquet"):
        for message in json.loads(row["messages"]):
            if message["role"] == "tool":
                assert len(message["content"]) // 5 <= 30
                json.loads(message["content"])


@pytest.fixture
def spoilt(rows: Path, tmp_path: Path) -> Path:
    records = list(read_records(rows))[:5]
    records[1].pop("query")
    records[3]["tools"] = ["Serch_Hotels"]
    records[4]["overall_success"] = False
    write_records(tmp_path / "spoilt.pkl", records)
    return tmp_path / "spoilt.pkl"


def test_bad_rows_are_named_and_counted(spoilt: Path, tmp_path: Path) -> None:
    report = preprocess_rl(spoilt, tmp_path / "rl.parquet")
    assert (report.read, report.written, report.unsuccessful) == (5, 2, 1)
    assert [row.where.split(" (")[0] for row in report.bad] == ["spoilt.pkl record 2", "spoilt.pkl record 4"]
    assert "Serch_Hotels" in report.bad[1].problem
    assert len(table(tmp_path / "rl.parquet")) == 2
    assert preprocess_rl(spoilt, tmp_path / "all.parquet", filter_success=False).written == 3


def test_strict_writes_nothing(spoilt: Path, tmp_path: Path) -> None:
    (tmp_path / "rl.parquet").write_text("old")
    with pytest.raises(DataError, match="record 2"):
        preprocess_rl(spoilt, tmp_path / "rl.parquet", strict=True)
    assert (tmp_path / "rl.parquet").read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["rl.parquet", "spoilt.pkl"]


def test_an_empty_file_is_an_error_and_no_division(tmp_path: Path) -> None:
    write_records(tmp_path / "none.jsonl", [])
    with pytest.raises(DataError, match="0 read"):
        preprocess_rl(tmp_path / "none.jsonl", tmp_path / "rl.parquet")


def test_scripts_have_the_reference_flags_and_exit_statuses(
    spoilt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--input", str(spoilt), "--output", str(tmp_path / "rl.parquet")]
    assert preprocess_bfcl_for_rl.main([*flags, "--filter-success"]) == 1  # bad records are left out, and told
    shown = capsys.readouterr()
    assert "2 of 5 records" in shown.out and "record 4" in shown.out
    assert preprocess_bfcl_for_rl.main([*flags, "--skip-bad"]) == 0
    capsys.readouterr()
    assert preprocess_bfcl_for_rl.main([*flags, "--strict"]) == 1
    assert "record 2" in capsys.readouterr().err
    assert (
        preprocess_bfcl_for_sft.main([*flags, "--output-jsonl", str(tmp_path / "sft.jsonl"), "--max-tools", "3"]) == 1
    )
    assert "3 of 5 records" in capsys.readouterr().out
    assert (
        preprocess_bfcl_for_rl.main(["--input", str(tmp_path / "no.pkl"), "--output", str(tmp_path / "x.parquet")]) == 1
    )


def test_importing_preprocessing_prints_nothing(rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    preprocess_rl(rows, tmp_path / "rl.parquet")
    assert capsys.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "records", "dialogues"), [("bfcl_training_3_per_workflow", 101, 101), ("eval_100", 100, 0)]
)
def test_reference_pickles_go_through(
    reference: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, records: int, dialogues: int
) -> None:
    rows = [json.loads(line) for line in (reference / f"{name}.jsonl").read_text().splitlines()]
    (tmp_path / "rows.pkl").write_bytes(pickle.dumps(rows))
    report = preprocess_rl(tmp_path / "rows.pkl", tmp_path / "rl.parquet", strict=True)
    assert report.written == records and report.edges > 300
    flags = [
        "--input",
        str(tmp_path / "rows.pkl"),
        "--output",
        str(tmp_path / "sft.parquet"),
        "--observation-tokens",
        "200",
    ]
    status = preprocess_bfcl_for_sft.main(flags)
    shown = capsys.readouterr()
    if dialogues:
        assert status == 0 and "records with defects" in shown.out and f"{dialogues} of {records}" in shown.out
        assert all(json.loads(row["messages"])[-1]["role"] == "assistant" for row in table(tmp_path / "sft.parquet"))
    else:  # most of its responses were never stored, so its calls have no answer
        assert status == 1 and "No results found" in shown.err
