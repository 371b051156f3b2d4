from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from environment.booking.seed_world import SeedWorld, WorldSize
from environment.booking.tests.ask import ask, at, miss
from environment.booking.tests.conftest import SMALL
from environment.cache.plan import planned_calls
from environment.core.calls import ResultStatus
from environment.core.canonical import canonical_value
from environment.core.errors import ConfigError
from environment.core.ports import values_at
from environment.core.schema import ToolSchema
from environment.core.tests.made import any_calls

DAYS = ("returnDate", "searchDates[]")
SEGMENT = "data.flightOffers[].segments[]"
AIRPORTS = ("arrivalAirport.name", "departureAirport.name")


@settings(max_examples=50, deadline=None)
@given(any_calls())
def test_no_call_raises_and_every_answer_is_of_a_known_kind(call: tuple[ToolSchema, dict[str, Any]]) -> None:
    schema, arguments = call
    answer = SeedWorld(3, SMALL).call(schema.name, arguments)
    assert answer.status in (ResultStatus.OK, ResultStatus.MISS, ResultStatus.INVALID_ARGUMENTS)
    assert list(answer.value) == (["data"] if answer.status is ResultStatus.OK else ["error"])


def test_the_same_seed_is_the_same_world_and_another_is_not(world: SeedWorld) -> None:
    again, other = SeedWorld(3, SMALL), SeedWorld(4, SMALL)
    calls = list(planned_calls(world))[::97]
    assert [world.call(*c) for c in calls] == [again.call(*c) for c in reversed(calls)][::-1]
    assert [world.call(*c) for c in calls] != [other.call(*c) for c in calls]


def test_every_tool_is_planned_and_every_planned_call_is_answered(world: SeedWorld) -> None:
    seen: set[str] = set()
    for tool, arguments in planned_calls(world):
        seen.add(tool)
        assert world.call(tool, arguments).status is ResultStatus.OK, (tool, arguments)
    assert seen == set(world.schemas)


def test_every_port_a_schema_promises_is_in_the_answers() -> None:
    world = SeedWorld(3, SMALL, linked=True)
    found: set[tuple[str, str]] = set()
    for tool, arguments in planned_calls(world):
        value = world.call(tool, arguments).value
        found |= {(tool, path) for path in world.schemas[tool].gives if values_at(value, path)}
    promised = {(tool, path) for tool, schema in world.schemas.items() for path in schema.gives}
    # Only the live service tells these: no long pattern and no id needs them.
    live_only = {
        ("Search_Car_Rentals", "data.search_context.searchKey"),
        ("Get_Popular_Attraction_Near_By", "data.popular_landmarks[].tag"),
        *(("Search_Hotels", f"data.hotels[].property.{name}") for name in ("checkinDate", "checkoutDate", "name")),
        ("Search_Hotels_By_Coordinates", "data.result[].hotel_name_trans"),
        *(("Get_Nearby_Cities", f"data[].{name}") for name in ("latitude", "longitude")),
        *((f"Get_Min_Price{more}", f"data[].{name}") for more in ("", "_Multi_Stops") for name in DAYS),
        *((f"Search_Flights{more}", f"{SEGMENT}.{name}") for more in ("", "_Multi_Stops") for name in AIRPORTS),
    }
    assert promised - found == live_only


def test_every_id_planned_has_been_given_by_an_earlier_call(world: SeedWorld) -> None:
    given: set[tuple[str, str]] = set()
    wanted: list[tuple[str, str, str]] = []
    for tool, arguments in planned_calls(world):
        schema = world.schemas[tool]
        value = world.call(tool, arguments).value
        given |= {(port, str(v)) for path, port in schema.gives.items() for v in at(value, path)}
        for path, port in schema.takes.items():
            if port not in ("date", "place_name", "latitude", "longitude", "hotel_filter"):
                wanted += [(port, str(v), tool) for v in at(arguments, path)]
    assert [w for w in wanted if w[:2] not in given] == []


def test_planned_arguments_are_what_a_user_gives(world: SeedWorld) -> None:
    for tool, arguments in planned_calls(world):
        for name, value in arguments.items():
            parameter = world.schemas[tool].properties[name]
            assert "default" not in parameter or canonical_value(parameter, value) != parameter["default"]


@pytest.mark.parametrize("wrong", [{"cities": 0}, {"cities": 999}, {"hotels": 7}, {"dates": 0}])
def test_a_size_out_of_range_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=f"WorldSize.{next(iter(wrong))}"):
        WorldSize(**wrong)


def test_names_of_hotels_are_unique_in_the_largest_world() -> None:
    hotels = SeedWorld(0, WorldSize(cities=83, hotels=6)).hotels.hotels
    assert len({h.name for h in hotels}) == len({h.id for h in hotels}) == len(hotels) == 498


@pytest.mark.parametrize("tool", ["Search_Hotel_Destination", "Search_Flight_Location", "Search_Car_Location"])
def test_names_are_found_whatever_their_case(world: SeedWorld, tool: str) -> None:
    city = world.facts.places[0]
    assert ask(world, tool, query=city.city.upper() + " ") == ask(world, tool, query=f"{city.city}, {city.country}")
    assert miss(world, tool, query="Atlantis")
