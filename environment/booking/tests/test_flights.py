from __future__ import annotations

from typing import Any

import pytest

from environment.booking.flights import Flight
from environment.booking.seed_world import SeedWorld
from environment.booking.tests.ask import ask, miss


def route(world: SeedWorld, a: int = 0, b: int = 1) -> dict[str, str]:
    ids = [ask(world, "Search_Flight_Location", query=world.facts.places[i].city)[0]["id"] for i in (a, b)]
    return {"fromId": ids[0], "toId": ids[1]}


def offers(world: SeedWorld, **more: Any) -> list[dict[str, Any]]:
    return ask(world, "Search_Flights", **route(world), **{"departDate": "2026-05-08"} | more)["flightOffers"]


def test_every_token_is_read_back(world: SeedWorld) -> None:
    for origin in range(3):
        for cabin in ("ECONOMY", "FIRST"):
            flight = Flight(origin, origin + 1, 17 * origin, cabin, origin)
            assert world.flights.flight(world.flights.token(flight)) == flight


@pytest.mark.parametrize("cabin", ["ECONOMY", "PREMIUM_ECONOMY", "BUSINESS", "FIRST"])
def test_details_tell_what_the_search_told(world: SeedWorld, cabin: str) -> None:
    for offer in offers(world, cabinClass=cabin):
        details = ask(world, "Get_Flight_Details", token=offer["token"])
        assert details["price"] == offer["price"]
        assert details["departureTime"] == f"2026-05-08T{offer['departureTime']}"
        assert details["cabinClass"] == cabin
        assert details["departureAirport"]["name"] == world.facts.places[0].airport
        assert details["arrivalAirport"]["name"] == world.facts.places[1].airport


def test_orders_are_kept_and_change_no_offer(world: SeedWorld) -> None:
    best, cheap, fast = (offers(world, sort=s) for s in ("BEST", "CHEAPEST", "FASTEST"))
    assert sorted(o["token"] for o in best) == sorted(o["token"] for o in cheap) == sorted(o["token"] for o in fast)
    assert [o["price"] for o in cheap] == sorted(o["price"] for o in best)
    minutes = [ask(world, "Get_Flight_Details", token=o["token"])["durationMinutes"] for o in fast]
    assert minutes == sorted(minutes)


def test_fares_grow_with_people_cabins_and_the_way_back(world: SeedWorld) -> None:
    one = [o["price"] for o in offers(world)]
    assert [o["price"] for o in offers(world, adults=2)] == [2 * p for p in one]
    for dearer in ({"children": "5"}, {"cabinClass": "business"}, {"returnDate": "2026-05-15"}):
        assert all(b > a for a, b in zip(one, [o["price"] for o in offers(world, **dearer)], strict=True))


def test_the_lowest_fare_is_that_of_the_search(world: SeedWorld) -> None:
    rows = ask(world, "Get_Min_Price", **route(world), departDate="2026-05-08")
    assert len(rows) == 3
    for row in rows:
        found = offers(world, departDate=row["departureDate"])
        assert row["price"] == min(o["price"] for o in found)
    both = ask(world, "Get_Min_Price", **route(world), departDate="2026-05-08", returnDate="2026-05-15")
    assert both[0]["price"] == min(o["price"] for o in offers(world, returnDate="2026-05-15"))


def test_trips_of_two_legs(world: SeedWorld) -> None:
    legs = [route(world) | {"date": "2026-05-08"}, route(world, 1, 2) | {"date": "2026-05-11"}]
    found = ask(world, "Search_Flights_Multi_Stops", legs=legs, sort="CHEAPEST")["flightOffers"]
    assert [o["price"] for o in found] == sorted(o["price"] for o in found)
    for offer in found:
        details = ask(world, "Get_Flight_Details", token=offer["token"])
        assert details["price"] == offer["price"]
        assert [s["departureTime"][:10] for s in details["segments"]] == ["2026-05-08", "2026-05-11"]
        assert len(ask(world, "Get_Seat_Map", offerToken=offer["token"])["seats"]) == 4
    (lowest,) = ask(world, "Get_Min_Price_Multi_Stops", legs=legs)
    parts = [
        ask(world, "Get_Min_Price", fromId=leg["fromId"], toId=leg["toId"], departDate=leg["date"]) for leg in legs
    ]
    assert lowest["price"] == sum(part[0]["price"] for part in parts) <= found[0]["price"]


def test_what_does_not_fly_is_a_miss(world: SeedWorld) -> None:
    here = route(world)
    assert miss(world, "Search_Flights", fromId=here["fromId"], toId=here["fromId"], departDate="2026-05-08")
    assert miss(world, "Search_Flights", fromId=here["fromId"], toId="XXX.AIRPORT", departDate="2026-05-08")
    assert miss(world, "Search_Flights", **here, departDate="2030-05-08")
    assert miss(world, "Search_Flights", **here, departDate="2027-12-30", returnDate="2028-01-05")
    assert miss(world, "Get_Min_Price_Multi_Stops", legs=[here | {"date": "2031-01-01"}])
    assert miss(world, "Get_Flight_Details", token="f00")
    assert miss(world, "Get_Seat_Map", offerToken="nothing")
