"""The linked world: what leads from one family of tools to another, and nothing else, is added."""
from __future__ import annotations

from typing import cast

import pytest

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.plan import planned_calls
from environment.core.calls import JsonValue, ResultStatus

SIZE = WorldSize(cities=6, hotels=3, attractions=3, cars=2, destinations=1, dates=1)
PLAIN, LINKED = SeedWorld(3, SIZE), SeedWorld(3, SIZE, linked=True)
ADDED = {"property", "latitude", "longitude", "cityName", "city", "dest_id", "dest_type"}


def ask(world: SeedWorld, tool: str, **arguments: JsonValue) -> JsonValue:
    answer = world.call(tool, arguments)
    assert answer.status is ResultStatus.OK, (tool, arguments, answer.value)
    return answer.value["data"]


def without(value: JsonValue, names: set[str]) -> JsonValue:
    if isinstance(value, dict):
        held = cast("dict[str, JsonValue]", value)
        return {k: without(v, names) for k, v in held.items() if k not in names}
    return [without(v, names) for v in cast("list[JsonValue]", value)] if isinstance(value, list) else value


def test_answers_hold_what_they_held() -> None:
    """But for taxi places, whose ids make room for landmarks."""
    ids = {"googlePlaceId", "place_id", "pick_up_place_id", "drop_off_place_id", "duration"}
    for tool, arguments in planned_calls(PLAIN):
        if tool != "Search_Taxi":
            plain, linked = PLAIN.call(tool, arguments), LINKED.call(tool, arguments)
            assert plain.status == linked.status
            assert without(plain.value, ids | ADDED) == without(linked.value, ids | ADDED), tool


def test_a_place_leads_to_hotels_cars_and_cities_around_it() -> None:
    city = LINKED.facts.places[0].city
    place = ask(LINKED, "Search_Hotel_Destination", query=city)[0]
    point = {"latitude": place["latitude"], "longitude": place["longitude"]}
    stay = {"arrival_date": "2026-03-01", "departure_date": "2026-03-03"}
    around = ask(LINKED, "Search_Hotels_By_Coordinates", **point, **stay)["result"]
    assert around and all({"latitude", "longitude"} <= set(hotel) for hotel in around)
    near = ask(LINKED, "Get_Nearby_Cities", **point)
    there = ask(LINKED, "Search_Hotels", dest_id=near[1]["dest_id"], search_type=near[1]["dest_type"], **stay)
    names = {h.name for h in LINKED.hotels.hotels if LINKED.facts.places[h.city].city == near[1]["name"]}
    assert {hotel["name"] for hotel in there["hotels"]} <= names
    times = {"pick_up_time": "10:00", "drop_off_time": "10:00"}
    times |= {"pick_up_date": "2026-03-01", "drop_off_date": "2026-03-02"}
    ends = {f"{end}_{axis}": around[0][axis] for end in ("pick_up", "drop_off") for axis in ("latitude", "longitude")}
    assert ask(LINKED, "Search_Car_Rentals", **ends, **times)["search_results"]


def test_a_landmark_of_a_hotel_can_be_visited_and_driven_to() -> None:
    hotel = LINKED.hotels.hotels[0]
    city = LINKED.facts.places[hotel.city].city
    for row in ask(LINKED, "Get_Popular_Attraction_Near_By", hotel_id=hotel.id)["closest_landmarks"]:
        found = ask(LINKED, "Search_Attraction_Location", query=row["tag"])
        assert found["products"][0]["cityName"] == city
        stop = ask(LINKED, "Taxi_Search_Location", query=row["tag"])[0]
        assert stop["city"] == city
        start = ask(LINKED, "Taxi_Search_Location", query=hotel.name)[0]
        ride = {"pick_up_date": "2026-03-01", "pick_up_time": "10:00"}
        ids = {"pick_up_place_id": start["googlePlaceId"], "drop_off_place_id": stop["googlePlaceId"]}
        assert ask(LINKED, "Search_Taxi", **ids, **ride)["results"]


@pytest.mark.parametrize("tool", ["Search_Attraction_Location", "Taxi_Search_Location", "Location_to_Lat_Long"])
def test_a_plain_world_knows_no_landmarks(tool: str) -> None:
    name = f"{PLAIN.facts.places[0].city} Cathedral"
    assert PLAIN.call(tool, {"query": name}).status is ResultStatus.MISS
    assert LINKED.call(tool, {"query": name}).status is ResultStatus.OK


def test_what_links_has_a_port() -> None:
    schemas = load_schemas()
    assert schemas["Search_Hotel_Destination"].gives["data[].latitude"] == "latitude"
    assert schemas["Get_Nearby_Cities"].gives["data[].dest_id"] == schemas["Search_Hotels"].takes["dest_id"]
    assert schemas["Search_Attraction_Location"].gives["data.products[].cityName"] == "place_name"
