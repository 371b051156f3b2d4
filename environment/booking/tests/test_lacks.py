"""The report on a file of schemas names everything that ours states and it does not."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from environment.booking.lacks import counted, lacks
from environment.booking.schemas import OWN_FILE, load_schemas
from environment.booking.tests.test_schemas import shared

OURS = load_schemas()


def of_changed(tmp_path: Path, tool: str, **changes: Any) -> list[tuple[str, str, str]]:
    rows = json.loads(OWN_FILE.read_text())
    for row in rows:
        if row["name"] == tool:
            row.update(changes)
    (tmp_path / "t.json").write_text(json.dumps(rows))
    return [(lack.tool, lack.kind, lack.what) for lack in lacks(load_schemas(tmp_path / "t.json"), OURS)]


def test_our_own_file_lacks_nothing() -> None:
    assert list(lacks(OURS, OURS)) == []


def test_the_references_file_lacks_all_that_it_says_in_prose_only() -> None:
    found = list(lacks(load_schemas(shared("booking_api.json")), OURS))
    kinds = counted(found)
    assert {"tool", "parameter"}.isdisjoint(kinds), "its names and arguments are the same"
    assert {lack.what.split("[]")[0] for lack in found if lack.kind == "required"} == {"legs"}
    assert kinds["response"] == kinds["group"] == 40
    assert kinds["enum"] == 10 and kinds["default"] >= 20 and kinds["format"] >= 25
    assert ("Search_Hotels", "type", "dest_id is number, ours string") in {(x.tool, x.kind, x.what) for x in found}
    assert any(lack.what == "legs[].date: format date" for lack in found), "also inside of lists"


def test_missing_and_foreign_tools_are_named() -> None:
    theirs = {name: schema for name, schema in OURS.items() if name != "Search_Taxi"}
    theirs["Search_Hotel"] = OURS["Search_Hotels"]
    found = [(lack.tool, lack.what) for lack in lacks(theirs, OURS)]
    assert found == [("Search_Taxi", "missing"), ("Search_Hotel", "not one of ours, nearest Search_Hotels")]


@pytest.mark.parametrize(
    ("changes", "kind", "what"),
    [
        ({"takes": {}}, "port taken", "query takes place_name"),
        ({"gives": {}}, "port given", "data[].googlePlaceId gives taxi_place_id"),
        ({"response": {}}, "response", "no shape to judge an answer by"),
        ({"group": ""}, "group", "belongs to taxi"),
        ({"parameters": {"type": "object", "properties": {}}}, "parameter", "query is missing"),
    ],
)
def test_one_thing_taken_away_is_found(tmp_path: Path, changes: Any, kind: str, what: str) -> None:
    found = of_changed(tmp_path, "Taxi_Search_Location", **changes)
    assert ("Taxi_Search_Location", kind, what) in found
    assert {tool for tool, _, _ in found} == {"Taxi_Search_Location"}


def test_surplus_parameters_and_other_requirements_are_found(tmp_path: Path) -> None:
    parameters = {"type": "object", "properties": {"query": {"type": "integer"}, "page": {"type": "integer"}}}
    found = of_changed(tmp_path, "Taxi_Search_Location", parameters=parameters)
    assert [what for _, kind, what in found if kind in ("parameter", "required", "type")] == [
        "query is integer, ours string", "page is not one of ours", "query is required in one of the two only",
    ]  # fmt: skip
