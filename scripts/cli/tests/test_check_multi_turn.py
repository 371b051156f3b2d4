"""`tool-rl check multi-turn`: one verdict a row, bad rows named, a missing package told with the command."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from BFCL.data import package
from BFCL.data.rows import multi_turn_row
from BFCL.data.tests.needs import needs_package
from environment.core.errors import ConfigError, ToolRlError
from scripts.cli.app import app


def line(case: str, **more: Any) -> str:
    row = multi_turn_row("multi_turn_base", "multi_turn_base_3")
    base = {"case_id": case, "category": row.category, "id": row.id, "model_calls": [[calls] for calls in row.gold]}
    return json.dumps({**base, **more}) + "\n"


def check(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["check", "multi-turn", *arguments], input=stdin)


@needs_package
@pytest.mark.parametrize("packed", [False, True])
def test_one_verdict_a_row_from_a_file_or_standard_input(tmp_path: Path, packed: bool) -> None:
    text = (line("good") + line("bad", model_calls=[])).encode()
    data = gzip.compress(text) if packed else text
    (tmp_path / "rows.jsonl").write_bytes(data)
    for result in (check(str(tmp_path / "rows.jsonl")), check("-", stdin=data)):
        assert result.exit_code == 0 and "2 rows judged, 1 valid, 1 invalid" in result.stderr
        assert [json.loads(found) for found in result.stdout.splitlines()] == [
            {"case_id": "good", "valid": True, "error_type": "", "turn": None},
            {"case_id": "bad", "valid": False, "error_type": "multi_turn:force_terminated", "turn": None},
        ]


@needs_package
def test_bad_rows_cost_themselves_and_the_exit_status(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    bad = line("r", category="multi_turn_bse") + line("r", id="multi_turn_base_900") + line("r", model_calls="ls()")
    path.write_text(line("r1") + bad + "{torn\n" + line("r2"))
    result = check(str(path))
    assert result.exit_code == 1
    assert [json.loads(found)["case_id"] for found in result.stdout.splitlines()] == ["r1", "r2"]
    for number, told in enumerate(("unknown category", "no such row", "another shape", "no JSON"), 2):
        assert f"{path} line {number}: " in result.stderr and told in result.stderr


@needs_package
@pytest.mark.parametrize("kind", ["missing", "folder", "empty", "torn gzip"])
def test_files_that_hold_no_rows_end_with_one_sentence(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "rows.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "torn gzip":
        path.write_bytes(gzip.compress(line("r").encode() * 300)[:-20])
    result = check(str(path))
    assert isinstance(result.exception, ToolRlError) and str(path) in str(result.exception)


@needs_package
def test_model_text_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = [f"__import__('os').system('touch {mark}')", f"ls(a=open('{mark}', 'w'))", f"exit() or open('{mark}', 'w')"]
    turns = [[evil] for _ in multi_turn_row("multi_turn_base", "multi_turn_base_3").gold]
    (tmp_path / "rows.jsonl").write_text(line("evil", model_calls=turns))
    result = check(str(tmp_path / "rows.jsonl"))
    assert result.exit_code == 0 and not json.loads(result.stdout)["valid"] and not mark.exists()


def test_without_the_package_one_error_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "PACKAGE", "no-such-package-of-ours")
    package.home.cache_clear()
    (tmp_path / "rows.jsonl").write_text("{}\n")
    result = check(str(tmp_path / "rows.jsonl"))
    package.home.cache_clear()
    assert isinstance(result.exception, ConfigError) and "pip install --no-deps" in str(result.exception)
