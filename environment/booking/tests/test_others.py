"""Attractions, cars, taxis and the map."""

from __future__ import annotations

from typing import Any

from environment.booking.cars import Rental
from environment.booking.places import kilometres
from environment.booking.seed_world import SeedWorld
from environment.booking.tests.ask import ask, miss

HIRE = {"pick_up_date": "2026-05-08", "drop_off_date": "2026-05-11", "pick_up_time": "10:00", "drop_off_time": "10:00"}


def spots(first: dict[str, Any], last: dict[str, Any]) -> dict[str, float]:
    ends = (("pick_up", first["coordinates"]), ("drop_off", last["coordinates"]))
    return {f"{end}_{axis}": point[axis] for end, point in ends for axis in ("latitude", "longitude")}


def test_attractions_agree_with_their_pages_and_orders(world: SeedWorld) -> None:
    found = ask(world, "Search_Attraction_Location", query=world.facts.places[0].city)
    place = found["destinations"][0]["id"]
    listed = ask(world, "Search_Attractions", id=place)["products"]
    assert [p["productId"] for p in found["products"]] == [p["id"] for p in listed[:2]]
    cheap = ask(world, "Search_Attractions", id=place, sortBy="lowest_price")["products"]
    assert [p["price"] for p in cheap] == sorted(p["price"] for p in listed)
    rated = ask(world, "Search_Attractions", id=place, sortBy="attr_book_score")["products"]
    pages = [ask(world, "Get_Attraction_Details", slug=p["slug"]) for p in rated]
    assert [p["rating"] for p in pages] == sorted((p["rating"] for p in pages), reverse=True)
    assert [(p["id"], p["name"], p["price"]) for p in pages] == [(p["id"], p["name"], p["price"]) for p in rated]


def test_an_attraction_is_found_by_name(world: SeedWorld) -> None:
    one = world.attractions.attractions[3]
    found = ask(world, "Search_Attraction_Location", query=one.name.lower())
    assert found == {
        "destinations": [],
        "products": [{"productId": one.id, "productSlug": one.slug, "title": one.name}],
    }
    assert miss(world, "Search_Attraction_Location", query="Atlantis")


def test_times_are_sold_on_open_days_only(world: SeedWorld) -> None:
    for one in world.attractions.attractions:
        days = [row["date"] for row in ask(world, "Get_Availability_Calendar", id=one.id)]
        assert len(days) == 4 and days == sorted(days)
        for date in days:
            times = ask(world, "Get_Availability", slug=one.slug, date=date)
            assert times and all(row["start"].startswith(date) for row in times)
        week = [ask(world, "Get_Availability", slug=one.slug, date=f"2026-05-0{d}") for d in range(1, 8)]
        assert week.count([]) == 1
    assert miss(world, "Get_Availability", slug=world.attractions.attractions[0].slug, date="2040-01-01")


def test_cars_keep_their_price_through_the_chain(world: SeedWorld) -> None:
    airport, centre = ask(world, "Search_Car_Location", query=world.facts.places[0].city)
    for ends in ((airport, airport), (airport, centre)):
        found = ask(world, "Search_Car_Rentals", **spots(*ends), **HIRE)
        prices = [car["price"] for car in found["search_results"]]
        assert prices == sorted(prices) and prices
        for car in found["search_results"]:
            chosen = {"vehicle_id": car["vehicle_id"], "search_key": found["search_key"]}
            details, summary = (ask(world, tool, **chosen) for tool in ("Vehicle_Details", "Booking_Summary"))
            assert details["price"] == summary["total"] == car["price"]
            assert details["v_name"] == summary["v_name"] == car["v_name"]
            for tool in ("Vehicle_Supplier_Details", "Vehicle_Supplier_Ratings"):
                assert ask(world, tool, **chosen)["name"] == car["supplier"]
            assert summary["drop_off"] == ends[1]["name"]


def test_another_place_to_return_costs_more_and_longer_too(world: SeedWorld) -> None:
    (here,) = ask(world, "Search_Car_Location", query=world.facts.places[0].airport)
    there = ask(world, "Search_Car_Location", query=world.facts.places[1].city)[0]

    def total(ends: tuple[dict[str, Any], dict[str, Any]], **more: str) -> int:
        return sum(
            car["price"] for car in ask(world, "Search_Car_Rentals", **spots(*ends), **HIRE | more)["search_results"]
        )

    assert total((here, here)) < total((here, there))
    assert total((here, here)) < total((here, here), drop_off_date="2026-05-20")


def test_search_keys_are_read_back_and_bind_the_city(world: SeedWorld) -> None:
    rental = Rental(0, 3, 77, 9)
    key = world.cars.key(rental)
    assert world.cars.rental(key) == rental
    elsewhere = world.cars.of_city(1)[0].id
    assert miss(world, "Vehicle_Details", vehicle_id=elsewhere, search_key=key)
    assert miss(world, "Vehicle_Details", vehicle_id=world.cars.of_city(0)[0].id, search_key="k0")
    sea = {f"{end}_{axis}": 0.0 for end in ("pick_up", "drop_off") for axis in ("latitude", "longitude")}
    assert miss(world, "Search_Car_Rentals", **sea, **HIRE)


def test_taxis_run_between_spots_and_cost_more_by_night(world: SeedWorld) -> None:
    city, airport, station = ask(world, "Taxi_Search_Location", query=world.facts.places[0].city)
    ride = {"pick_up_place_id": airport["googlePlaceId"], "pick_up_date": "2026-05-08"}

    def prices(end: dict[str, Any], time: str) -> list[int]:
        found = ask(world, "Search_Taxi", **ride, drop_off_place_id=end["googlePlaceId"], pick_up_time=time)
        return [row["price"] for row in found["results"]]

    assert len(prices(station, "9:00")) == 3
    assert all(night > day for day, night in zip(prices(city, "09:00"), prices(city, "23:30"), strict=True))
    assert miss(world, "Search_Taxi", **ride, drop_off_place_id=ride["pick_up_place_id"], pick_up_time="09:00")
    far = ask(world, "Taxi_Search_Location", query=world.facts.places[1].airport)[0]["googlePlaceId"]
    assert miss(world, "Search_Taxi", **ride, drop_off_place_id=far, pick_up_time="09:00")
    assert miss(world, "Search_Taxi", **ride, drop_off_place_id="gzzzzz", pick_up_time="09:00")


def test_the_map_and_the_taxis_name_the_same_spots(world: SeedWorld) -> None:
    for name in (world.facts.places[0].airport, world.hotels.hotels[0].name):
        (spot,) = ask(world, "Location_to_Lat_Long", query=name)
        (stand,) = ask(world, "Taxi_Search_Location", query=name)
        assert spot["place_id"] == stand["googlePlaceId"]
    assert miss(world, "Location_to_Lat_Long", query="Atlantis")


def test_nearby_cities_are_the_nearest(world: SeedWorld) -> None:
    here = world.facts.places[0]
    rows = ask(world, "Get_Nearby_Cities", latitude=here.latitude, longitude=str(here.longitude))
    far = sorted(kilometres(here.centre, place.centre) for place in world.facts.places)
    assert rows[0]["name"] == here.city
    assert [row["distance_km"] for row in rows] == [round(d) for d in far[:3]]
