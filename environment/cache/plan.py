"""Which calls of a simulated world get recorded: those a user's request can lead to.

Arguments stand as a user's request gives them: optional ones that say nothing new, such as one adult, are left out. Ids
come from the world itself, so every recorded call can be reached from a request by earlier calls.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from environment.booking.draw import draw
from environment.booking.facts import day_text
from environment.booking.flights import Flight
from environment.booking.hotels import Hotel
from environment.booking.seed_world import SeedWorld
from environment.core.calls import JsonValue

Call = tuple[str, dict[str, JsonValue]]

_FIRST_DATE = 40


def planned_calls(world: SeedWorld) -> Iterator[Call]:
    """Yield every call to record; the same world gives the same calls in the same order."""
    for family in (_places, _hotel_searches, _hotel_pages, _stays, _flight_searches, _flight_pages):
        yield from family(world)


def calendar(world: SeedWorld) -> list[int]:
    """Return the days on which trips of the recorded world begin, about three weeks apart."""
    step = max(1, min(23, 600 // world.size.dates))
    return [_FIRST_DATE + step * n for n in range(world.size.dates)]


def routes(world: SeedWorld) -> list[tuple[int, int]]:
    """Return the (origin, target) city pairs whose flights are recorded."""
    cities = range(len(world.facts.places))
    out: list[tuple[int, int]] = []
    for origin in cities:
        others = sorted((c for c in cities if c != origin), key=_shuffled(world, "route", origin))
        out += [(origin, target) for target in others[: world.size.destinations]]
    return out


def _shuffled(world: SeedWorld, *words: object) -> Callable[[int], int]:
    return lambda thing: draw(world.seed, *words, thing)


def _places(world: SeedWorld) -> Iterator[Call]:
    for place in world.facts.places:
        for tool, name in product(("Search_Hotel_Destination", "Search_Flight_Location"), (place.city, place.airport)):
            yield tool, {"query": name}
            if name == place.city:
                yield tool, {"query": f"{place.city}, {place.country}"}


def _dates(day: int, nights: int) -> dict[str, JsonValue]:
    return {"arrival_date": day_text(day), "departure_date": day_text(day + nights)}


def _party(adults: int) -> dict[str, JsonValue]:
    return {"adults": adults} if adults > 1 else {}


def _hotel_searches(world: SeedWorld) -> Iterator[Call]:
    days = calendar(world)
    wishes: list[dict[str, JsonValue]] = [{"sort_by": "price"}, {"sort_by": "bayesian_review_score"}]
    wishes += [{"categories_filter": wish} for wish in ("class::4", "class::5", "facility::107", "facility::433")]
    for city in range(len(world.facts.places)):
        place = {"dest_id": world.hotels.dest_ids.text(2 * city), "search_type": "city"}
        town = {"dest_id": world.hotels.dest_ids.text(2 * city + 1), "search_type": "district"}
        for day, nights, adults in product(days, (1, 2, 3, 4), (1, 2, 3)):
            yield "Search_Hotels", place | _dates(day, nights) | _party(adults)
        for day, nights, adults in product(days[::2], (1, 2, 3), (1, 2)):
            yield "Search_Hotels", town | _dates(day, nights) | _party(adults)
        for day, nights, wish in product(days[::2], (1, 2, 3), wishes):
            yield "Search_Hotels", place | _dates(day, nights) | wish
        for day, nights in product(days, (1, 2, 3)):
            yield "Get_Filter", place | _dates(day, nights)


def _hotel_pages(world: SeedWorld) -> Iterator[Call]:
    pages = [n for n, schema in world.schemas.items() if n in world.hotels.tools and schema.required == ("hotel_id",)]
    for hotel in world.hotels.hotels:
        yield "Search_Hotel_Destination", {"query": hotel.name}
        for tool in pages:
            yield tool, {"hotel_id": hotel.id}
        for sort in ("sort_recent_desc", "sort_score_desc"):
            yield "Get_Hotel_Reviews_Tips", {"hotel_id": hotel.id, "sort_option_id": sort}


def _stays(world: SeedWorld) -> Iterator[Call]:
    days = calendar(world)
    for hotel in world.hotels.hotels:
        yield from _stays_at(hotel, days[hotel.city % 2 :: 2])


def _stays_at(hotel: Hotel, days: list[int]) -> Iterator[Call]:
    for day, nights, adults in product(days, (1, 2, 3), (1, 2)):
        yield "Get_Room_List_With_Availability", {"hotel_id": hotel.id} | _dates(day, nights) | _party(adults)
    for day, nights in product(days, (2, 4)):
        dates = {"min_date": day_text(day), "max_date": day_text(day + nights)}
        yield "Get_Room_Availability", {"hotel_id": hotel.id} | dates


def _flight_searches(world: SeedWorld) -> Iterator[Call]:
    ids = list(world.flights.ids)
    wishes: list[dict[str, JsonValue]] = [{"sort": "CHEAPEST"}, {"sort": "FASTEST"}, {"adults": 2}]
    for (origin, target), day in product(routes(world), calendar(world)):
        trip: dict[str, JsonValue] = {"fromId": ids[origin], "toId": ids[target], "departDate": day_text(day)}
        yield "Search_Flights", trip
        yield "Get_Min_Price", trip
        if (day + origin) % 2:
            continue
        for wish in (*wishes, {"cabinClass": "BUSINESS"}, {"returnDate": day_text(day + 7)}):
            yield "Search_Flights", trip | wish
        yield "Get_Min_Price", trip | {"cabinClass": "BUSINESS"}


def _flight_pages(world: SeedWorld) -> Iterator[Call]:
    for (origin, target), day in product(routes(world), calendar(world)):
        for number in range(3):
            token = world.flights.token(Flight(origin, target, day, "ECONOMY", number))
            yield "Get_Flight_Details", {"token": token}
            yield "Get_Seat_Map", {"offerToken": token}
