"""Values along paths, and the data dependencies that follow from ports."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.booking.schemas import load_schemas
from environment.core.ports import generic_path, port_edges, unwrapped, values_at
from environment.core.schema import ToolSchema
from environment.core.tests.made import json_values

HITS = [{"id": 1, "kind": "city", "at": {"lat": 5}}, {"id": 2, "kind": "hotel"}, {"kind": "hotel"}, 7]
SCHEMAS = load_schemas()


@pytest.mark.parametrize("value", [HITS, {"data": HITS}, {"status": True, "data": HITS}])
@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("[].id", [1, 2]),
        ("[0].id", [1]),
        ("[1].id", [2]),
        ("[9].id", []),
        ("[kind=hotel].id", [2]),
        ("[kind=Hotel].id", []),
        ("[].at.lat", [5]),
        ("[x].id", []),
        ("[-1].id", []),
    ],
)
def test_a_path_fits_bare_and_wrapped_answers(value: Any, path: str, found: list[Any]) -> None:
    assert values_at(value, path) == values_at(value, f"data{path}") == found


def test_objects_and_lists_of_lists() -> None:
    assert values_at({"data": {"a": {"b": [[1, 2], [3]]}}}, "data.a.b[][]") == [1, 2, 3]
    assert values_at({"units": [{"id": 3}]}, "units[].id") == [3]
    assert values_at({"data": 4}, "data") == [4] and unwrapped({"x": 1}) == {"x": 1}
    assert values_at({"database": {"x": 1}}, "database.x") == [1], "only the whole word is the wrapper"


@given(json_values, st.text(alphabet="data.[]01k=xé", max_size=20))
def test_no_path_and_no_value_raises(value: Any, path: str) -> None:
    assert isinstance(values_at(value, path), list)


def test_generic_paths_are_equal_where_they_mean_the_same_place() -> None:
    same = ("data.hotels[].id", "hotels[3].id", "data.hotels[kind=hotel].id", "hotels[].id")
    assert {generic_path(path) for path in same} == {"hotels[].id"}
    assert generic_path("data[2].id") == generic_path("[0].id") == "[].id"
    assert generic_path("data") == "" and generic_path("database.x") == "database.x"


def test_edges_join_equal_ports_alone() -> None:
    tools = {
        "A": ToolSchema("A", "", {}, gives={"data[].x": "x_id", "data[].y": "y_id"}),
        "B": ToolSchema("B", "", {}, takes={"legs[].x": "x_id", "day": "date"}),
    }
    (edge,) = port_edges(tools)
    assert (edge.producer, edge.field, edge.consumer, edge.argument, edge.port) == (
        "A", "data[].x", "B", "legs[].x", "x_id",
    )  # fmt: skip


def test_dependencies_that_mining_missed_follow_from_the_ports() -> None:
    found = {(e.producer, generic_path(e.field), e.consumer, e.argument) for e in port_edges(SCHEMAS)}
    for tool in ("Search_Flights_Multi_Stops", "Get_Min_Price_Multi_Stops"):
        for end in ("legs[].fromId", "legs[].toId"):
            assert ("Search_Flight_Location", "[].id", tool, end) in found
    assert ("Search_Hotel_Destination", "[].dest_id", "Search_Hotels", "dest_id") in found
    for axis, short in (("latitude", "lat"), ("longitude", "lng")):
        for tool in ("Get_Nearby_Cities", "Search_Hotels_By_Coordinates"):
            assert ("Location_to_Lat_Long", f"[].geometry.location.{short}", tool, axis) in found


def test_a_destination_that_is_a_hotel_gives_a_hotel_id_and_a_city_does_not() -> None:
    (path,) = [p for p, port in SCHEMAS["Search_Hotel_Destination"].gives.items() if port == "hotel_id"]
    hits = [{"dest_id": "5", "search_type": "city"}, {"dest_id": "9", "search_type": "hotel"}]
    assert values_at({"data": hits}, path) == ["9"]
