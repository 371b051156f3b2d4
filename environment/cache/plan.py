"""Which calls of a simulated world get recorded: those a user's request can lead to.

Arguments stand as a user's request gives them: optional ones that say nothing new, such as one adult, are left out. Ids
come from the world itself, so every recorded call can be reached from a request by earlier calls.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from environment.booking.cars import Rental
from environment.booking.draw import draw
from environment.booking.facts import day_text
from environment.booking.flights import Flight
from environment.booking.hotels import Hotel
from environment.booking.seed_world import SeedWorld
from environment.core.calls import JsonValue

Call = tuple[str, dict[str, JsonValue]]

_FIRST_DATE = 40
_FAMILIES: tuple[dict[str, JsonValue], ...] = ({"adults": 2, "children_age": "6"}, {"adults": 3, "room_qty": 2})


def planned_calls(world: SeedWorld) -> Iterator[Call]:
    """Yield every call to record; the same world gives the same calls in the same order."""
    families = (_places, _hotel_searches, _hotel_pages, _stays, _flight_searches, _flight_pages, _trips)
    for family in (*families, _attractions, _car_searches, _car_pages, _taxis, _map):
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
    tools = (
        "Search_Hotel_Destination", "Search_Flight_Location", "Search_Attraction_Location", "Search_Car_Location",
        "Taxi_Search_Location", "Location_to_Lat_Long",
    )  # fmt: skip
    for tool, place in product(tools, world.facts.places):
        names = (place.city, f"{place.city}, {place.country}", place.airport)
        for name in names[:2] if tool == "Search_Attraction_Location" else names:
            yield tool, {"query": name}


def _dates(day: int, nights: int) -> dict[str, JsonValue]:
    return {"arrival_date": day_text(day), "departure_date": day_text(day + nights)}


def _party(adults: int) -> dict[str, JsonValue]:
    return {"adults": adults} if adults > 1 else {}


def _hotel_searches(world: SeedWorld) -> Iterator[Call]:
    days = calendar(world)
    wishes: list[dict[str, JsonValue]] = [{"sort_by": "price"}, {"sort_by": "bayesian_review_score"}, *_FAMILIES]
    wishes += [{"price_max": 200}, {"price_max": 350}, {"price_min": 150}]
    wishes += [{"categories_filter": wish} for wish in ("class::4", "class::5", "facility::107", "facility::433")]
    for city in range(len(world.facts.places)):
        place = {"dest_id": world.hotels.dest_ids.text(2 * city), "search_type": "city"}
        town = {"dest_id": world.hotels.dest_ids.text(2 * city + 1), "search_type": "district"}
        for day, nights, adults in product(days, (1, 2, 3), (1, 2, 3)):
            yield "Search_Hotels", place | _dates(day, nights) | _party(adults)
        for day, nights, adults in product(days[::2], (1, 2), (1, 2)):
            yield "Search_Hotels", town | _dates(day, nights) | _party(adults)
        for day, nights, wish in product(days[::2], (1, 2), wishes):
            yield "Search_Hotels", place | _dates(day, nights) | wish
        for day, nights in product(days[::2], (1, 2)):
            yield "Get_Filter", place | _dates(day, nights)


def _hotel_pages(world: SeedWorld) -> Iterator[Call]:
    pages = [n for n, schema in world.schemas.items() if n in world.hotels.tools and schema.required == ("hotel_id",)]
    for hotel in world.hotels.hotels:
        for tool in ("Search_Hotel_Destination", "Taxi_Search_Location", "Location_to_Lat_Long"):
            yield tool, {"query": hotel.name}
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
    for day, nights, family in product(days, (1, 2), _FAMILIES):
        yield "Get_Room_List_With_Availability", {"hotel_id": hotel.id} | _dates(day, nights) | family
    for day, nights in product(days, (2, 4)):
        dates = {"min_date": day_text(day), "max_date": day_text(day + nights)}
        yield "Get_Room_Availability", {"hotel_id": hotel.id} | dates


def _flight_searches(world: SeedWorld) -> Iterator[Call]:
    ids = list(world.flights.ids)
    wishes: list[dict[str, JsonValue]] = [{"sort": "CHEAPEST"}, {"sort": "FASTEST"}, {"adults": 2}]
    wishes += [{"adults": 2, "children": "6"}, {"adults": 3}]
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


def _trips(world: SeedWorld) -> Iterator[Call]:
    ids, legs_by_city = list(world.flights.ids), routes(world)
    onward = {origin: target for origin, target in reversed(legs_by_city)}
    for (origin, target), day in product(legs_by_city[:: world.size.destinations], calendar(world)[::2]):
        if onward[target] == origin:
            continue
        stops = ((origin, target, day), (target, onward[target], day + 3))
        legs = [{"fromId": ids[a], "toId": ids[b], "date": day_text(when)} for a, b, when in stops]
        yield "Get_Min_Price_Multi_Stops", {"legs": legs}
        yield "Search_Flights_Multi_Stops", {"legs": legs, "sort": "CHEAPEST"}
        yield "Search_Flights_Multi_Stops", {"legs": legs}
        for offer in world.call("Search_Flights_Multi_Stops", {"legs": legs}).value["data"]["flightOffers"]:
            yield "Get_Flight_Details", {"token": offer["token"]}
            yield "Get_Seat_Map", {"offerToken": offer["token"]}


def _attractions(world: SeedWorld) -> Iterator[Call]:
    days = calendar(world)
    for city in range(len(world.facts.places)):
        place = {"id": world.attractions.place_ids.text(city)}
        yield "Search_Attractions", place
        for order in ("attr_book_score", "lowest_price"):
            yield "Search_Attractions", place | {"sortBy": order}
    for attraction in world.attractions.attractions:
        yield "Search_Attraction_Location", {"query": attraction.name}
        yield "Get_Attraction_Details", {"slug": attraction.slug}
        yield "Get_Availability_Calendar", {"id": attraction.id}
        yield "Get_Availability", {"slug": attraction.slug}
        opening = world.call("Get_Availability_Calendar", {"id": attraction.id}).value["data"]
        for date in sorted({day_text(day) for day in days} | {row["date"] for row in opening}):
            yield "Get_Availability", {"slug": attraction.slug, "date": date}


def _rentals(world: SeedWorld) -> Iterator[tuple[tuple[int, int], int, int]]:
    """Yield (pick-up and drop-off spot, day, days) of the car searches that are recorded."""
    for city, day, days in product(range(len(world.facts.places)), calendar(world)[::3], (2, 4)):
        for spots in ((2 * city, 2 * city), (2 * city, 2 * city + 1)):
            yield spots, day, days


def _car_searches(world: SeedWorld) -> Iterator[Call]:
    for spots, day, days in _rentals(world):
        search: dict[str, JsonValue] = {}
        for end, spot in zip(("pick_up", "drop_off"), spots, strict=True):
            latitude, longitude = world.cars.spot(spot)[1]
            search |= {f"{end}_latitude": latitude, f"{end}_longitude": longitude}
        search |= {"pick_up_date": day_text(day), "drop_off_date": day_text(day + days)}
        for first, last in (("09:00", "17:00"), ("10:00", "10:00"), ("12:00", "12:00")):
            yield "Search_Car_Rentals", search | {"pick_up_time": first, "drop_off_time": last}


def _car_pages(world: SeedWorld) -> Iterator[Call]:
    tools = [n for n, s in world.schemas.items() if n in world.cars.tools and "vehicle_id" in s.required]
    for spots, day, days in _rentals(world):
        key = world.cars.key(Rental(*spots, day, days))
        for vehicle in world.cars.of_city(spots[0] // 2):
            for tool in tools:
                yield tool, {"vehicle_id": vehicle.id, "search_key": key}


def _taxis(world: SeedWorld) -> Iterator[Call]:
    place_id, hotels = world.taxis.place_id, world.hotels.hotels
    for city, place in enumerate(world.facts.places):
        airport, centre = place_id(place.airport), place_id(place.city)
        rides = [(airport, centre), (centre, airport)]
        rides += [(airport, place_id(hotel.name)) for hotel in hotels if hotel.city == city]
        for (start, end), day, time in product(rides, calendar(world)[::2], ("09:00", "18:00")):
            ride = {"pick_up_place_id": start, "drop_off_place_id": end}
            yield "Search_Taxi", ride | {"pick_up_date": day_text(day), "pick_up_time": time}


def _map(world: SeedWorld) -> Iterator[Call]:
    for place in world.facts.places:
        point = {"latitude": place.latitude, "longitude": place.longitude}
        yield "Get_Nearby_Cities", point
        for day, nights, adults in product(calendar(world)[::2], (1, 2, 3), (1, 2)):
            yield "Search_Hotels_By_Coordinates", point | _dates(day, nights) | _party(adults)
