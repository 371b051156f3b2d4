from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from environment.booking.schemas import load_schemas
from environment.booking.tests.conftest import SMALL
from environment.cache.build import build_seed_cache, import_records, import_rows
from environment.cache.plan import calendar, planned_calls, routes
from environment.cache.sources import Recorded
from environment.cache.store import CachedWorld
from environment.core.calls import ResultStatus
from environment.core.canonical import canonical_key
from environment.core.errors import WorldError

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared")) / "data"


def step(function: str, arguments: dict[str, Any], response: Any) -> dict[str, Any]:
    held = {"step": 0, "function": function, "arguments": arguments, "execution_result": response, "success": True}
    return {"ground_truth": {"function": function, "arguments": arguments}, "execution_result": held}


def read(name: str) -> list[dict[str, Any]]:
    if not (SHARED / name).exists():
        pytest.skip(f"{name}: reference data not there")
    with (SHARED / name).open() as lines:
        return [json.loads(line) for line in lines]


def test_a_seed_makes_one_world(seed_path: Path, tmp_path: Path) -> None:
    report = build_seed_cache(tmp_path / "again", 3, SMALL)
    assert report.content_hash == CachedWorld.open(seed_path).content_hash
    assert (report.duplicates, report.conflicts, report.skipped) == (0, (), {})
    assert build_seed_cache(tmp_path / "other", 4, SMALL).content_hash != report.content_hash


def test_planned_calls_are_distinct_and_the_plan_is_fixed(simulated: Any) -> None:
    calls = list(planned_calls(simulated))
    keys = {(tool, canonical_key(simulated.schemas[tool], arguments)) for tool, arguments in calls}
    assert len(keys) == len(calls)
    assert calls == list(planned_calls(simulated))


def test_the_calendar_and_the_routes_have_the_size_asked_for(simulated: Any) -> None:
    days = calendar(simulated)
    assert len(days) == SMALL.dates and days == sorted(set(days))
    pairs = routes(simulated)
    assert len(set(pairs)) == len(pairs) == SMALL.cities * SMALL.destinations
    assert all(a != b for a, b in pairs)


def test_stored_responses_become_a_world(tmp_path: Path) -> None:
    records = [
        {"id": "a", "steps": [step("Search_Hotel_Destination", {"query": "Oslo"}, {"data": [1]})]},
        {"workflow_id": "b", "steps": [step("Get_Hotel_Details", {"hotel_id": 5}, {"status": False, "message": "no"})]},
        {"steps": [step("Get_Hotel_Details", {"hotel_id": "5"}, {"data": 2}), step("Odd", {}, 1)]},
        {"steps": [step("Search_Taxi", {}, ""), {"execution_result": None}, {}]},
        {},
    ]
    report = import_records(tmp_path / "w", records, provenance="mine")
    assert report.by_tool == {"Get_Hotel_Details": 1, "Search_Hotel_Destination": 1}
    assert report.skipped == {"unknown tool Odd": 1, "no response stored": 3}
    assert report.examples["no response stored"] == "mine  #3 step 0"
    assert [(c.kept, c.refused) for c in report.conflicts] == [("mine b #1", "mine  #2")]
    world = CachedWorld.open(tmp_path / "w")
    assert world.call("Search_Hotel_Destination", {"query": "oslo"}).value == {"data": [1]}
    assert world.call("Get_Hotel_Details", {"hotel_id": "5"}).status is ResultStatus.UPSTREAM_ERROR


def test_records_without_any_response_are_no_world(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="nothing to write"):
        import_records(tmp_path / "w", [{"steps": [step("Search_Taxi", {}, "")]}])


def test_the_reference_records_replay(tmp_path: Path) -> None:
    records = read("bfcl_training_3_per_workflow.jsonl")
    report = import_records(tmp_path / "w", records, load_schemas())
    steps = [s["execution_result"] for record in records for s in record["steps"]]
    assert report.skipped == {}
    assert report.entries + report.duplicates + len(report.conflicts) == len(steps) == 442
    world = CachedWorld.open(tmp_path / "w")
    world.verify()
    answers = [world.call(s["function"], s["arguments"]) for s in steps]
    differing = sum(a.value != s["execution_result"] for a, s in zip(answers, steps, strict=True))
    assert all(a.status is ResultStatus.OK for a in answers)
    assert differing == len(report.conflicts)


def test_evaluation_records_without_responses_are_counted(tmp_path: Path) -> None:
    report = import_records(tmp_path / "w", read("eval_100.jsonl"))
    assert report.skipped == {"no response stored": 293}


def test_answers_that_are_not_their_tools_are_told_and_dropped_on_demand(tmp_path: Path) -> None:
    city = {"dest_id": "1", "search_type": "city", "name": "Oslo"}
    rows = [
        Recorded("Search_Hotel_Destination", {"query": "Oslo"}, {"data": [city]}, "a"),
        Recorded("Search_Hotel_Destination", {"query": "Bergen"}, [city], "a"),
        Recorded("Search_Hotels", {"dest_id": "1", "search_type": "city"}, {"data": [city]}, "b"),
        Recorded("Search_Hotels", {"dest_id": "2", "search_type": "city"}, {"status": True, "data": {}}, "c"),
        Recorded("Search_Hotels", {"dest_id": "3", "search_type": "city"}, {"status": False, "message": "no"}, "d"),
    ]
    kept = import_rows(tmp_path / "kept.db", rows)
    assert (kept.entries, kept.odd, kept.skipped) == (5, {"no answer of Search_Hotels": 2}, {})
    assert kept.examples["no answer of Search_Hotels"].startswith("b: data is no object")
    dropped = import_rows(tmp_path / "dropped.db", rows, drop_odd=True)
    assert (dropped.entries, dropped.odd, dropped.skipped) == (3, {}, {"no answer of Search_Hotels": 2})


def test_the_rows_of_the_reference_hold_five_answers_of_other_tools(tmp_path: Path) -> None:
    report = import_records(tmp_path / "w.db", read("eval_100.jsonl"))
    assert report.odd == {"no answer of Get_Availability_Calendar": 4, "no answer of Search_Flights": 1}
    assert import_records(tmp_path / "t.db", read("bfcl_training_3_per_workflow.jsonl")).odd == {}
