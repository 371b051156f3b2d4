"""`tool-rl validate`: gold earns everything on every record, and a record where it doesn't is named with the reason."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from environment.core.errors import ConfigError, ToolRlError
from scripts.cli.app import app
from training.reward.tests.records import FILES, SHARED


def step(number: int, function: str, arguments: dict[str, Any], response: Any, depends: list[int]) -> dict[str, Any]:
    call = {"function": function, "arguments": arguments}
    outcome = {"step": number, **call, "execution_result": response, "success": True}
    return {
        "step": number,
        "ground_truth": call,
        "candidate_tools": [function],
        "depends_on": depends,
        "execution_result": outcome,
    }


RECORD: dict[str, Any] = {
    "query": "Find me a hotel in Oslo and tell me about it.",
    "workflow_id": "workflow_1",
    "steps": [
        step(0, "Search_Hotel_Destination", {"query": "Oslo"}, {"data": [{"dest_id": "-273837"}]}, []),
        step(1, "Get_Hotel_Details", {"hotel_id": "-273837"}, {"data": {"hotel_name": "Bravo"}}, [0]),
    ],
}


def changed(**more: Any) -> dict[str, Any]:
    return {**copy.deepcopy(RECORD), **more}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["validate", *arguments])


def written(path: Path, *rows: dict[str, Any] | str) -> str:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return str(path)


def test_gold_is_one_and_the_distribution_is_told(tmp_path: Path) -> None:
    result = run("--records", written(tmp_path / "r.jsonl", RECORD, changed(query="Another one, please.")))
    assert result.exit_code == 0, result.output
    assert "2 records" in result.output and "2 at 1.0" in result.output and "min 1.0000" in result.output


def test_a_record_below_one_is_named_with_its_component(tmp_path: Path) -> None:
    wrong = changed(answer="The hotel is called Bravo.")
    edge = [{"argument": "hotel_id", "producer": 0, "field": "data[0].dest_id"}]
    wrong["steps"][1]["edges"] = edge
    wrong["steps"][0]["execution_result"]["execution_result"] = {"data": [{"dest_id": "-1"}]}
    result = run("--records", written(tmp_path / "r.jsonl", RECORD, wrong))
    assert result.exit_code == 1
    assert "1 at 1.0" in result.output and "line 2" in result.output
    assert "R_outcome_orchestration is" in result.output and "step 1: hotel_id was not seen" in result.output


def test_rows_that_cannot_be_replayed_are_named_and_cost_themselves(tmp_path: Path) -> None:
    unknown = changed()
    unknown["steps"][0]["ground_truth"]["function"] = "Serch_Hotel_Destination"
    result = run("--records", written(tmp_path / "r.jsonl", "{torn", unknown, '{"query": "x"}', RECORD))
    assert result.exit_code == 1 and "4 records" in result.output and "1 at 1.0" in result.output
    for told in (
        "line 1 not replayed",
        "no JSON",
        "line 2 not replayed",
        "'Search_Hotel_Destination'",
        "line 3 not replayed",
    ):
        assert told in result.output


@pytest.mark.slow
@pytest.mark.parametrize("reward", ["graduated", "toolrl"])
@pytest.mark.parametrize("name", FILES)
def test_the_reference_records_all_earn_one(name: str, reward: str) -> None:
    path = SHARED / "data" / name
    if not path.exists():
        pytest.skip(f"{name}: reference data not there")
    result = run("--records", str(path), "--reward", reward)
    assert result.exit_code == 0, result.output
    count = 101 if "training" in name else 100
    assert f"{count} records" in result.output and f"{count} at 1.0" in result.output


@pytest.mark.slow
def test_without_arguments_sets_are_made_and_replayed() -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert "250 records" in result.output and "250 at 1.0" in result.output


@pytest.mark.parametrize(
    "arguments",
    [["--run-dir", "x", "--records", "y"], ["--world", "x"], ["--reward", "gradated"], ["--run-dir", "/nowhere"]],
)
def test_settings_that_make_no_sense_are_refused(arguments: list[str]) -> None:
    result = run(*arguments)
    assert isinstance(result.exception, ConfigError), result.output


@pytest.mark.parametrize("kind", ["missing", "folder", "empty"])
def test_files_without_records_are_said(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "r.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.write_text("")
    result = run("--records", str(path))
    assert isinstance(result.exception, ToolRlError) and str(path) in str(result.exception)
