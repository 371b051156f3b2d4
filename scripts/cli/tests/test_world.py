"""`tool-rl world …`: make, look at, compare, damage and repair recorded worlds, as a person does at a terminal."""
from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from environment.core.errors import ToolRlError
from scripts.cli.app import app

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared")) / "data"
ROW = {"arguments": {"query": "Oslo"}, "response": {"data": [{"dest_id": "1", "name": "Ørland"}]}}


def world(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["world", *map(str, arguments)])


def said(result: Result) -> str:
    """Return what the command says, the message of an error raised on purpose included."""
    error = result.exception
    assert error is None or isinstance(error, ToolRlError | SystemExit), repr(error)
    return result.output + (str(error) if isinstance(error, ToolRlError) else "")


def cache(path: Path, **tools: Any) -> Path:
    path.write_text(json.dumps(tools), encoding="utf-8")
    return path


@pytest.fixture
def small(tmp_path: Path) -> Path:
    out = tmp_path / "w.db"
    assert world("import", out, cache(tmp_path / "c.json", Search_Hotel_Destination=[ROW])).exit_code == 0
    return out


def test_build_is_reproducible_and_verifies(tmp_path: Path) -> None:
    sizes = ("--cities", 3, "--hotels", 1, "--destinations", 1, "--dates", 1)
    for name in ("a.db", "b.db"):
        assert "entries of 40 tools" in said(world("build", tmp_path / name, "--seed", 5, *sizes))
    same = world("diff", tmp_path / "a.db", tmp_path / "b.db")
    assert (same.exit_code, said(same)) == (0, "the same calls with the same answers\n")
    assert "all as recorded" in said(world("verify", tmp_path / "a.db"))
    found = json.loads(world("stats", tmp_path / "a.db").stdout)
    assert found["entries"] == sum(t["entries"] for t in found["tools"].values()) > 300
    assert found["tools_without_entries"] == [] and found["sources"] == {"seed-world seed=5": found["entries"]}


def test_import_never_overwrites_unasked_and_extends_when_asked(small: Path, tmp_path: Path) -> None:
    more = cache(tmp_path / "more.json", Get_Hotel_Details=[{"arguments": {"hotel_id": "5"}, "response": {"x": 1}}])
    refused = world("import", small, more)
    assert refused.exit_code == 1 and "--extend" in said(refused)
    assert "2 entries of 2 tools" in said(world("import", small, more, "--extend"))
    assert "left out 1: unknown tool Hotel" in said(
        world("import", small, cache(tmp_path / "odd.json", Hotel=[ROW]), "--extend")
    )


def test_missing_files_are_all_named(tmp_path: Path) -> None:
    text = said(world("import", tmp_path / "w.db", tmp_path / "no.json", tmp_path / "nor.jsonl"))
    assert "no.json" in text and "nor.jsonl" in text and not (tmp_path / "w.db").exists()


def test_export_and_import_give_the_same_world(small: Path, tmp_path: Path) -> None:
    assert "1 calls written" in said(world("export", small, tmp_path / "out.json"))
    assert json.loads((tmp_path / "out.json").read_text()) == {"Search_Hotel_Destination": [ROW]}
    assert world("import", tmp_path / "again.db", tmp_path / "out.json").exit_code == 0
    assert world("diff", small, tmp_path / "again.db").exit_code == 0


def test_diff_says_what_is_missing_and_what_changed(small: Path, tmp_path: Path) -> None:
    rows = [{**ROW, "response": {"data": []}}, {"arguments": {"query": "Bergen"}, "response": 1}]
    other = tmp_path / "o.db"
    world("import", other, cache(tmp_path / "o.json", Search_Hotel_Destination=rows))
    text = said(result := world("diff", small, other))
    assert result.exit_code == 1
    assert 'another answer Search_Hotel_Destination {"query":"oslo"}' in text
    assert 'only second    Search_Hotel_Destination {"query":"bergen"}' in text
    assert "1 only first" not in text and text.endswith("1 only second, 1 another answer\n")


def test_verify_names_every_damaged_row(small: Path, tmp_path: Path) -> None:
    more = [{"arguments": {"query": f"town {n}"}, "response": n} for n in range(4)]
    world("import", small, cache(tmp_path / "m.json", Search_Hotel_Destination=more), "--extend")
    with sqlite3.connect(small) as db:
        db.execute("UPDATE entries SET value = x'00' WHERE key LIKE '%town 1%'")
        db.execute("UPDATE entries SET status = 'upstream_error' WHERE key LIKE '%town 3%'")
    result = world("verify", small)
    assert result.exit_code == 1
    assert "town 1" in result.output and "town 3" in result.output and "town 2" not in result.output


def test_a_key_value_still_goes_to_the_stage(tmp_path: Path) -> None:
    result = world("--profile", "cpu_tiny", "tool_rl.wrld.seed=1")
    assert isinstance(result.exception, ToolRlError) and "tool_rl.wrld" in str(result.exception)


@pytest.mark.skipif(not SHARED.is_dir(), reason="reference data not there")
def test_the_reference_records_come_back_out_as_a_cache_and_in_again(tmp_path: Path) -> None:
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    text = said(world("import", first, SHARED / "bfcl_training_3_per_workflow.jsonl"))
    assert "two answers" in text
    world("export", first, tmp_path / "cache.json")
    world("import", second, tmp_path / "cache.json")
    assert world("diff", first, second).exit_code == 0


def test_serve_answers_until_it_is_told_to_stop(small: Path) -> None:
    command = [sys.executable, "-m", "scripts.cli", "serve", str(small), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        url = line.split(" at ")[1].split()[0]
        with urllib.request.urlopen(f"{url}/health", timeout=10) as health:
            assert json.load(health)["status"] == "ok"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "ended; no request was cut off\n"
        assert process.wait(15) == 0
    finally:
        process.kill()


def test_serve_refuses_to_listen_for_others_without_a_token(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOOL_RL_SERVE_TOKEN", raising=False)
    result = CliRunner().invoke(app, ["serve", str(small), "--host", "0.0.0.0"])
    assert isinstance(result.exception, ToolRlError) and "TOOL_RL_SERVE_TOKEN" in str(result.exception)
