"""`tool-rl world …`: make, look at, compare, damage and repair recorded worlds, as a person does at a terminal."""
from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from environment.booking.seed_world import SeedWorld
from environment.core.errors import ToolRlError
from scripts.cli.app import app

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared")) / "data"
CITY = SeedWorld().facts.places[0].city
"""A city that the seed world of the default seed knows."""
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


def test_expand_says_its_cost_then_grows_the_world_and_repeats_nothing(tmp_path: Path) -> None:
    flags = ("expand", "--cache-path", tmp_path / "w.db", "--upstream", "seed", "--cities", 5, "--hotels", 1)
    flags += ("--workflows", "Search_Taxi", "--batch-size-step0", 3, "--max-branches-per-step", 3)
    cost = world(*flags, "--dry-run")
    assert cost.exit_code == 0 and "none of them is paid for" in said(cost) and not list(tmp_path.iterdir())
    grown = world(*flags)
    assert grown.exit_code == 0 and "1 of 1 workflows complete" in said(grown)
    assert "nothing new" in said(world(*flags))
    assert "all as recorded" in said(world("verify", tmp_path / "w.db"))


def test_expand_has_the_references_flags() -> None:
    text = said(world("expand", "--help"))
    for flag in (
        "--mode", "--functions", "--workflows", "--exclude-workflows", "--max-chains-per-workflow",
        "--samples-per-function", "--cache-path", "--tool-schema-path", "--batch-size-step0", "--batch-size-dependent",
        "--max-branches-per-step", "--max-workers", "--workflow-workers", "--workflow-templates", "--random-seed",
        "--verbose", "--model",
    ):  # fmt: skip
        assert flag in text


@pytest.mark.parametrize(
    ("flags", "status", "text"),
    [
        ((), 2, "--cache-path"),
        (("--cache-path", "w.json", "--upstream", "seed"), 2, "tool-rl world import w.db w.json"),
        (("--cache-path", "w.db"), 2, "RAPID_API_KEY"),
        (("--cache-path", "w.db", "--upstream", "seed", "--max-workers", "0"), 2, "--max-workers"),
        (("--cache-path", "w.db", "--upstream", "seed", "--cities", "900"), 2, "WorldSize.cities"),
        (("--cache-path", "w.db", "--upstream", "seed", "--workflows", "Serch"), 1, "no such workflow"),
        (("--cache-path", "w.db", "--upstream", "seed", "--workflow-templates", "no.json"), 1, "no.json"),
        (("--cache-path", ".", "--upstream", "seed"), 2, "a folder"),
        (("--cache-path", "w.db", "--first-date", "soon"), 2, "'soon' is no date"),
    ],
)
def test_expand_with_wrong_flags_says_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], status: int, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAPID_API_KEY", raising=False)
    result = world("expand", *flags)
    assert result.exit_code == status and text in result.output, result.output


def test_the_script_entry_is_the_same_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "environment.expand_cache", "--cache-path", str(tmp_path / "w.db")]
    command += ["--upstream", "seed", "--mode", "independent", "--functions", "Search_Car_Location"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and "1 of 1 workflows complete" in done.stdout, done.stderr
    assert "Traceback" not in done.stderr


def test_ask_in_each_mode(small: Path) -> None:
    call = ("ask", "Search_Hotel_Destination", '{"query": "oslo"}')
    found = world(*call, "--world", small)
    assert found.exit_code == 0 and json.loads(found.stdout)["value"] == ROW["response"]
    miss = world("ask", "Search_Hotel_Destination", '{"query": "osslo"}', "--world", small)
    assert miss.exit_code == 1 and 'nearest recorded: {"query":"oslo"}' in miss.output
    there = ("ask", "Search_Flight_Location", json.dumps({"query": CITY}))
    assert world(*there, "--mode", "simulated").exit_code == 0
    assert world(*there, "--world", small, "--mode", "record", "--upstream", "seed").exit_code == 0
    assert "2 entries of 2 tools" in said(world("seal", small)) and not small.with_name("w.db.journal").exists()
    assert world(*there, "--world", small).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("X", "{}"), "no recorded world given"),
        (("X", "{", "--mode", "simulated"), "not JSON"),
        (("X", "[]", "--mode", "simulated"), "not an object"),
        (("X", "{}", "--mode", "simulated", "--world", "w.db"), "has no file"),
        (("Serch_Taxi", "{}", "--mode", "simulated"), "did you mean Search_Taxi?"),
        (("X", "{}", "--world", "none.db"), "no recorded world"),
    ],
)
def test_ask_with_wrong_arguments_says_what_is_wrong(arguments: tuple[str, ...], text: str) -> None:
    result = world("ask", *arguments)
    assert result.exit_code != 0 and text in said(result)


def test_seal_without_a_journal_says_so(small: Path) -> None:
    assert "no journal" in said(world("seal", small))


def tools(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["tools", *map(str, arguments)])


def test_tools_can_be_listed_shown_and_checked(tmp_path: Path) -> None:
    assert "flight     Search_Flights(fromId*, toId*" in said(tools("ls")) and len(said(tools("ls")).splitlines()) == 40
    shown = json.loads(tools("show", "Search_Hotels").stdout)
    assert shown["gives"]["data.hotels[].hotel_id"] == "hotel_id" and shown["response"]["required"] == ["data"]
    assert "nearest   'Search_Hotels'" in said(tools("show", "Search_Hotel"))
    assert "it states all that ours does" in said(tools("check", Path("environment/booking_api.json").resolve()))
    mine = tmp_path / "mine.json"
    mine.write_text('{"name": "Search_Taxi", "parameters": {"type": "dict", "properties": {}}}')
    result = tools("check", mine)
    assert result.exit_code == 1 and "39 tool" in said(result) and "pick_up_place_id is missing" in said(result)
    assert len(said(tools("check", mine, "--all")).splitlines()) > 45
    assert "no schema file can be read" in said(tools("check", tmp_path / "none.json"))


def test_edges_follow_from_ports_and_judge_what_was_mined() -> None:
    assert "-> Search_Flights_Multi_Stops.legs[].fromId" in said(tools("edges"))
    if not SHARED.is_dir():
        pytest.skip("reference data not there")
    text = said(tools("edges", "--templates", SHARED / "workflow_templates.json"))
    assert text.endswith("538 given, 6 denied\n") or text.endswith("6 denied, 538 given\n"), text[-200:]


def test_serve_a_simulated_world(small: Path) -> None:
    command = [sys.executable, "-m", "scripts.cli", "serve", "--port", "0", "--mode", "simulated"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("a world in mode simulated at ")
        url = line.split(" at ")[1].split()[0]
        body = json.dumps({"name": "Search_Hotel_Destination", "arguments": {"query": CITY}}).encode()
        request = urllib.request.Request(f"{url}/v1/call", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert json.load(answer)["status"] == "ok"
    finally:
        process.kill()
        process.wait(10)
    refused = CliRunner().invoke(app, ["serve", str(small), "--mode", "simulated"])
    assert isinstance(refused.exception, ToolRlError) and "has no file" in str(refused.exception)


def test_import_reads_pickles_of_records_and_refuses_those_that_run_code(tmp_path: Path) -> None:
    step = {"ground_truth": {"function": "Search_Hotel_Destination", "arguments": {"query": "Oslo"}},
            "execution_result": {"execution_result": ROW["response"], "success": True}}  # fmt: skip
    rows = tmp_path / "rows.pkl"
    rows.write_bytes(pickle.dumps([{"workflow_id": "w1", "steps": [step]}, {"no": "record"}]))
    made = world("import", tmp_path / "w.db", rows)
    assert made.exit_code == 0, said(made)
    assert json.loads(world("stats", tmp_path / "w.db").stdout)["entries"] == 1
    assert "rows.pkl record 1" in said(made)
    rows.write_bytes(pickle.dumps([Path("x")]))
    refused = world("import", tmp_path / "other.db", rows)
    assert refused.exit_code != 0 and "it was not loaded" in said(refused) and not (tmp_path / "other.db").exists()
