"""Proposed arguments are valid, repeatable and never make ids up."""
from __future__ import annotations

from datetime import date

from hypothesis import given, settings
from hypothesis import strategies as st

from environment.booking.places import all_places
from environment.booking.schemas import load_schemas
from environment.core.ports import put
from environment.core.validate import check_arguments
from environment.expansion.chains import USER_PORTS, needed_ports
from environment.expansion.proposals import DrawnProposer

SCHEMAS = load_schemas()
PLACES = all_places()[:20]
PROPOSER = DrawnProposer(PLACES, date(2026, 5, 1), 7)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(SCHEMAS)), st.integers(1, 12), st.text(max_size=5), st.booleans())
def test_with_the_ids_put_in_every_proposal_is_a_valid_call(name: str, count: int, about: str, every: bool) -> None:
    schema = SCHEMAS[name]
    linked = [path for path, _ in needed_ports(schema)]
    ids = {path.split("[")[0] for path, port in schema.takes.items() if port not in USER_PORTS}
    named = [n for n in schema.properties if n not in schema.required and n not in ids] if every else []
    for arguments in PROPOSER.fill(schema, linked, named, count, about):
        for path in linked:
            put(arguments, path, 5 if "itude" in path else "city" if path == "search_type" else "id-1")
        assert check_arguments(schema, arguments) == [], arguments


@given(st.sampled_from(sorted(SCHEMAS)))
def test_ids_are_never_made_up(name: str) -> None:
    schema = SCHEMAS[name]
    for arguments in PROPOSER.fill(schema, [], list(schema.properties), 5, "x"):
        for path, port in schema.takes.items():
            if port not in {*USER_PORTS, "latitude", "longitude", "hotel_search_type"} and "[]" not in path:
                assert path not in arguments


def test_the_same_seed_and_place_propose_the_same_and_others_do_not() -> None:
    schema = SCHEMAS["Search_Hotel_Destination"]
    first = PROPOSER.fill(schema, [], [], 30, "a")
    assert first == PROPOSER.fill(schema, [], [], 30, "a")
    assert first[:10] == PROPOSER.fill(schema, [], [], 10, "a"), "more proposals go on where fewer ended"
    assert first != PROPOSER.fill(schema, [], [], 30, "b")
    assert first != DrawnProposer(PLACES, date(2026, 5, 1), 8).fill(schema, [], [], 30, "a")


def test_proposals_differ_from_each_other_and_begin_plain() -> None:
    schema = SCHEMAS["Get_Room_List_With_Availability"]
    sets = PROPOSER.fill(schema, ["hotel_id"], [], 40, "a")
    assert set(sets[0]) == {"arrival_date", "departure_date"}
    assert any("adults" in one for one in sets) and any("adults" not in one for one in sets[1:])
    assert len({str(one) for one in sets}) > 30


def test_dates_begin_at_the_first_day_and_places_are_those_given() -> None:
    flights = PROPOSER.fill(SCHEMAS["Search_Flights"], ["fromId", "toId"], ["returnDate"], 60, "a")
    assert min(one["departDate"] for one in flights) >= "2026-05-01"
    assert all(one["returnDate"] > one["departDate"] for one in flights)
    names = {name for p in PLACES for name in (p.city, f"{p.city}, {p.country}", p.airport)}
    queries = {one["query"] for one in PROPOSER.fill(SCHEMAS["Search_Car_Location"], [], [], 60, "a")}
    assert queries <= names and len(queries) > 15


def test_the_legs_of_a_trip_are_in_order() -> None:
    for one in PROPOSER.fill(SCHEMAS["Search_Flights_Multi_Stops"], ["legs[0].fromId"], [], 20, "a"):
        days = [leg["date"] for leg in one["legs"]]
        assert days == sorted(days) and len(set(days)) == 2
