"""Files as users have them: marks, line ends, broken lines, ids twice, interruptions, the other layouts."""
from __future__ import annotations

import codecs
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_synthesis import preprocess_bfcl_for_rl
from data_synthesis.preprocess import preprocess_rl
from data_synthesis.preprocess.compat import STRINGS_SCHEMA, responses_file
from data_synthesis.preprocess.ids import SeenIds
from data_synthesis.records import read_each, read_records, write_records
from data_synthesis.synth import synthesise
from environment.core.errors import ConfigError, DataError
from environment.core.task import Task

Change = Callable[[list[bytes]], bytes]


@pytest.fixture(scope="module")
def rows(world_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("rows")
    synthesise(world_path, None, out, 12, 2, 0, observation_chars=260)
    return out / "train.jsonl"


def table(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


FORMS: dict[str, Change] = {
    "a byte order mark": lambda lines: codecs.BOM_UTF8 + b"\n".join(lines),
    "Windows line ends": lambda lines: b"\r\n".join(lines) + b"\r\n",
    "blank lines": lambda lines: b"\n\n  \n".join(lines) + b"\n\n",
    "no last line end": lambda lines: b"\n".join(lines),
    "all of these": lambda lines: codecs.BOM_UTF8 + b"\r\n\r\n".join(lines),
}


@pytest.mark.parametrize("form", list(FORMS))
def test_a_file_from_any_editor_gives_the_same_rows(rows: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(FORMS[form](rows.read_bytes().splitlines()))
    preprocess_rl(rows, tmp_path / "a.parquet", strict=True)
    preprocess_rl(tmp_path / "rows.jsonl", tmp_path / "b.parquet", strict=True)
    assert table(tmp_path / "a.parquet") == table(tmp_path / "b.parquet")


BROKEN = {
    "no JSON": b'{"query": ', "no record": b"[1, 2]", "no UTF-8": b'{"query": "\xff"}', "a mark": codecs.BOM_UTF8,
}  # fmt: skip


@pytest.mark.parametrize("kind", list(BROKEN))
def test_one_broken_line_costs_one_row_and_is_named(rows: Path, tmp_path: Path, kind: str) -> None:
    lines = rows.read_bytes().splitlines()
    (tmp_path / "rows.jsonl").write_bytes(b"\n".join([*lines[:3], BROKEN[kind], *lines[3:]]))
    report = preprocess_rl(tmp_path / "rows.jsonl", tmp_path / "rl.parquet")
    assert (report.read, report.written, report.bad_rows) == (13, 12, 1)
    assert report.bad[0].where == "rows.jsonl record 4" and "rows.jsonl line 4" in report.bad[0].problem
    with pytest.raises(DataError, match="line 4"):
        list(read_records(tmp_path / "rows.jsonl"))
    assert len([row for row in read_each(tmp_path / "rows.jsonl") if isinstance(row, dict)]) == 12


@pytest.mark.parametrize("column", ["query", "steps"])
def test_a_missing_column_is_named(rows: Path, tmp_path: Path, column: str) -> None:
    records = list(read_records(rows))
    for record in records:
        record.pop(column)
    write_records(tmp_path / "rows.jsonl", records)
    with pytest.raises(DataError, match=rf"12 bad.*{column}: field required"):
        preprocess_rl(tmp_path / "rows.jsonl", tmp_path / "rl.parquet")
    assert not (tmp_path / "rl.parquet").exists() and not (tmp_path / "rl.card.json").exists()


def test_an_id_given_twice_is_told_with_both_places(rows: Path, tmp_path: Path) -> None:
    records = list(read_records(rows))
    records[7]["id"] = records[2]["id"]
    write_records(tmp_path / "rows.jsonl", [*records, records[5]])
    report = preprocess_rl(tmp_path / "rows.jsonl", tmp_path / "rl.parquet")
    assert report.written == 11
    assert [row.where.split(" (")[0] for row in report.bad] == ["rows.jsonl record 8", "rows.jsonl record 13"]
    assert "record 3" in report.bad[0].problem and "record 6" in report.bad[1].problem
    assert [row["extra_info"]["index"] for row in table(tmp_path / "rl.parquet")] == list(range(11))


def test_nothing_left_after_filters_is_told_and_writes_nothing(
    rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_records(tmp_path / "rows.jsonl", [{**row, "overall_success": False} for row in read_records(rows)])
    flags = ["--input", str(tmp_path / "rows.jsonl"), "--output", str(tmp_path / "rl.parquet"), "--filter-success"]
    assert preprocess_bfcl_for_rl.main(flags) == 1
    assert "12 read, 0 bad, 12 unsuccessful" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize("text", [b"", b"\n\n", codecs.BOM_UTF8, b"\r\n"])
def test_an_empty_file_is_told(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "rows.jsonl").write_bytes(text)
    with pytest.raises(DataError, match="0 read"):
        preprocess_rl(tmp_path / "rows.jsonl", tmp_path / "rl.parquet")


def test_an_output_that_can_not_be_written_is_told(rows: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="folder"):
        preprocess_rl(rows, tmp_path / "folder")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="can't be written"):
        preprocess_rl(rows, tmp_path / "file" / "rl.parquet")
    with pytest.raises(DataError, match=r"none\.jsonl"):
        preprocess_rl(tmp_path / "none.jsonl", tmp_path / "x.parquet")


def test_an_unknown_layout_is_told_with_the_nearest(rows: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nearest\s+'strings'"):
        preprocess_rl(rows, tmp_path / "rl.parquet", layout="string")


SLOW = """
import signal, sys, time
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may have it ignored
from data_synthesis.preprocess import stream, preprocess_rl
real = stream.read_each
def slowly(path):
    for number, row in enumerate(real(path)):
        if number == 600:
            print("half", flush=True)
            time.sleep(60)
        yield row
stream.read_each = slowly
preprocess_rl(Path(sys.argv[1]), Path(sys.argv[2]), layout=sys.argv[3])
"""


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["native", "strings"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_write_leaves_no_half_file(
    rows: Path, tmp_path: Path, sent: signal.Signals, layout: str
) -> None:
    many = [{**row, "id": f"{row['id']}-{copy}"} for copy in range(80) for row in read_records(rows)]
    write_records(tmp_path / "rows.jsonl", many)
    output = tmp_path / "out" / "rl.parquet"
    output.parent.mkdir()
    output.write_text("old")
    command = [sys.executable, "-c", SLOW, str(tmp_path / "rows.jsonl"), str(output), layout]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "half\n"
        process.send_signal(sent)
        process.wait(30)
    assert output.read_text() == "old" and not responses_file(output).exists()
    preprocess_rl(tmp_path / "rows.jsonl", output, layout=layout)
    assert pq.read_metadata(output).num_rows == 960


def test_tool_selection_is_a_native_list_for_tool_agents_of_verl(rows: Path, tmp_path: Path) -> None:
    preprocess_rl(rows, tmp_path / "plain.parquet")
    preprocess_rl(rows, tmp_path / "rl.parquet", layout="selection")
    for row, plain in zip(table(tmp_path / "rl.parquet"), table(tmp_path / "plain.parquet"), strict=True):
        chosen = row["extra_info"].pop("tool_selection")
        task = Task.from_json(json.loads(row["extra_info"]["task"]))
        assert chosen == json.loads(row["candidate_tools"]) == list(task.tools)
        assert row == plain


# ---- the reference's seven text columns ----


def strings(rows: Path, tmp_path: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return decoded rows and responses by id."""
    output = tmp_path / "strings.parquet"
    preprocess_rl(rows, output, layout="strings")
    assert pq.read_schema(output).equals(STRINGS_SCHEMA)
    decoded = [
        {name: json.loads(text) if text[0] in "[{" else text for name, text in row.items()} for row in table(output)
    ]
    return decoded, {row["id"]: json.loads(row["response"]) for row in table(responses_file(output))}


def test_text_columns_hold_the_chain_and_responses_stand_once(rows: Path, tmp_path: Path) -> None:
    decoded, responses = strings(rows, tmp_path)
    records = list(read_records(rows))
    used: list[str] = []
    for row, record in zip(decoded, records, strict=True):
        assert (row["data_source"], row["agent_name"], row["ability"]) == ("bfcl", "tool_agent", "tool_calling")
        assert [m["role"] for m in row["prompt"]] == ["system", "user"]
        assert row["prompt"][1]["content"] == record["query"]
        assert row["extra_info"]["execution_traces"] == row["reward_model"]["execution_traces"]
        for step, trace in zip(record["steps"], row["extra_info"]["execution_traces"], strict=True):
            call = step["ground_truth"]
            (one,) = trace[call["function"]]["traces"]
            assert (one["function_name"], one["arguments"]) == (call["function"], call["arguments"])
            assert responses[one["result"]["response"]] == step["execution_result"]["execution_result"]
            used.append(one["result"]["response"])
    assert set(used) == set(responses) and len(responses) <= len(used)


def oracle_gold(reference: Path) -> Iterator[dict[str, Any]]:
    file = reference / "oracles" / "legacy_reward_cases.jsonl.gz"
    if not file.is_file():
        pytest.skip(f"{file.name}: reference data not there")
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from (case for case in map(json.loads, lines) if case["kind"] == "gold")


def without_results(extra: dict[str, Any]) -> dict[str, Any]:
    traces = [
        {name: [{**one, "result": None} for one in held["traces"]] for name, held in step.items()}
        for step in extra["execution_traces"]
    ]
    return {**extra, "execution_traces": traces}


def test_text_columns_say_what_the_reference_hands_to_its_reward(reference: Path, tmp_path: Path) -> None:
    found = {
        name: strings(reference / f"{file}.jsonl", tmp_path)[0]
        for name, file in (("train3", "bfcl_training_3_per_workflow"), ("eval100", "eval_100"))
    }
    compared = 0
    for case in oracle_gold(reference):
        source, line = case["case_id"].partition(".")[0].split("-")
        row = found[source][int(line)]
        assert row["reward_model"]["ground_truth"] == case["ground_truth"]
        assert without_results(row["extra_info"]) == without_results(case["extra_info"])
        compared += 1
    assert compared > 20


# ---- defects of records made elsewhere ----


def test_defects_of_the_reference_are_listed(reference: Path, tmp_path: Path) -> None:
    train = preprocess_rl(reference / "bfcl_training_3_per_workflow.jsonl", tmp_path / "a.parquet", strict=True)
    assert train.written == 101
    # By hand: 68 records lack values in the query (41 a required one), 15 contradict their own responses.
    assert train.defects["unsolvable"] + train.defects["unstated"] >= 68
    assert 30 <= train.defects["unsolvable"] <= 101 and train.defects["contradiction"] >= 10
    assert train.defects["no response"] == 0
    heldout = preprocess_rl(reference / "eval_100.jsonl", tmp_path / "b.parquet", strict=True)
    assert heldout.written == 100 and heldout.defects["no response"] >= 90
    assert heldout.defects["dependencies lost"] >= 50
    assert "no response" in heldout.summary() and "eval_100.jsonl record" in heldout.summary()
    card = json.loads((tmp_path / "b.card.json").read_text())
    assert card["counts"]["Defects of records made elsewhere"]["no response"]["rows"] == heldout.defects["no response"]


def test_our_own_records_were_checked_when_they_were_made(rows: Path, tmp_path: Path) -> None:
    assert not preprocess_rl(rows, tmp_path / "a.parquet").defects
    records = list(read_records(rows))
    for record in records:
        record["metadata"] = {}
    write_records(tmp_path / "foreign.jsonl", records)
    found = preprocess_rl(tmp_path / "foreign.jsonl", tmp_path / "b.parquet").defects
    assert not found.keys() & {"no response", "invalid call", "contradiction", "unsolvable", "internal value"}


@pytest.mark.parametrize(
    ("spoil", "defect"),
    [
        (lambda r: r["steps"][0]["execution_result"].update(execution_result=""), "no response"),
        (lambda r: r["steps"][0]["ground_truth"]["arguments"].update(nights=3), "invalid call"),
        (lambda r: r.update(query="Please find me something."), "unsolvable"),
        (lambda r: r["steps"][-1].update(edges=[]) or r["steps"][-1]["ground_truth"]["arguments"].update(
            {r["steps"][-1]["edges_were"]: "ZZZ-0-unknown"}), "contradiction"),
    ],
)  # fmt: skip
def test_each_defect_is_found(rows: Path, tmp_path: Path, spoil: Callable[[dict[str, Any]], Any], defect: str) -> None:
    record = next(
        r for r in read_records(rows)
        if r["steps"][-1]["edges"] and "id" in r["steps"][-1]["edges"][0]["argument"].lower()
    )  # fmt: skip
    record["metadata"] = {}
    record["steps"][-1]["edges_were"] = record["steps"][-1]["edges"][0]["argument"]
    spoil(record)
    write_records(tmp_path / "rows.jsonl", [record])
    assert defect in preprocess_rl(tmp_path / "rows.jsonl", tmp_path / "rl.parquet").defects


@given(st.lists(st.text(max_size=3)))
def test_ids_are_remembered_with_their_first_number(ids: list[str]) -> None:
    seen, known = SeenIds(), dict[str, int]()
    for number, identity in enumerate(ids):
        assert seen.first(identity, number) == known.get(identity)
        known.setdefault(identity, number)
    seen.close()


def test_a_pickle_that_would_run_code_is_refused_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.pkl").write_bytes(b"cos\nsystem\n(S'touch " + os.fsencode(tmp_path / "ran") + b"'\ntR.")
    flags = ["--input", str(tmp_path / "rows.pkl"), "--output", str(tmp_path / "rl.parquet")]
    started = time.monotonic()
    assert preprocess_bfcl_for_rl.main(flags) == 1
    assert "os.system" in capsys.readouterr().err and not (tmp_path / "ran").exists()
    assert time.monotonic() - started < 10
