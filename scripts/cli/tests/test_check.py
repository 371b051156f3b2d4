"""`tool-rl check ast`: one verdict a row, bad rows named, any kind of file answered with a sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from environment.core.errors import ToolRlError
from scripts.cli.app import app

FUNCTION = {"name": "f", "parameters": {"type": "dict", "properties": {"a": {"type": "string"}}, "required": ["a"]}}


def row(case: str, value: Any, **more: Any) -> str:
    base = {"case_id": case, "function": [FUNCTION], "possible_answer": [{"f": {"a": ["x"]}}]}
    return json.dumps({**base, "model_output": [{"f": {"a": value}}], **more}) + "\n"


def ast(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["check", "ast", *arguments], input=stdin)


def verdicts(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_one_verdict_a_row_whatever_the_name_says_of_packing(tmp_path: Path, packed: bool, name: str) -> None:
    text = (row("r1", "X") + "\n" + row("r2", "z")).encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if packed else text)
    result = ast(str(tmp_path / name))
    assert result.exit_code == 0
    assert verdicts(result) == [
        {"case_id": "r1", "valid": True, "error_type": ""},
        {"case_id": "r2", "valid": False, "error_type": "value_error:string"},
    ]
    assert "2 rows judged, 1 valid, 1 invalid, 0 not judged" in result.stderr


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed: bool) -> None:
    text = row("r1", "x").encode()
    result = ast("-", stdin=gzip.compress(text) if packed else text)
    assert (result.exit_code, verdicts(result)[0]["valid"]) == (0, True)


def test_bad_rows_cost_themselves_and_the_exit_status(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(row("r1", "x") + "{torn\n" + row("r2", "x", category="live_smple") + '"text"\n' + row("r3", "x"))
    result = ast(str(path))
    assert result.exit_code == 1
    assert [v["case_id"] for v in verdicts(result)] == ["r1", "r3"]
    for told in (f"{path} line 2: the line is no JSON", f"{path} line 3: unknown category", "'live_simple'", "line 4"):
        assert told in result.stderr


def test_model_text_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    lines = [row("e1", evil), row("e2", "x", model_output=evil), row("e3", evil, category="simple_java")]
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    result = ast(str(tmp_path / "rows.jsonl"))
    assert [v["valid"] for v in verdicts(result)] == [False] * 3 and not mark.exists()


@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "torn gzip", "blank"])
def test_files_that_hold_no_rows_end_with_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.jsonl"
    match kind:
        case "folder":
            path.mkdir()
        case "empty":
            path.write_bytes(b"")
        case "blank":
            path.write_bytes(b"\n\n")
        case "torn gzip":
            path.write_bytes(gzip.compress(row("r", "x").encode() * 500)[:-20])
        case _:
            pass
    result = ast(str(path))
    assert isinstance(result.exception, ToolRlError) and result.exception.exit_status == 1
    assert str(path) in str(result.exception)
