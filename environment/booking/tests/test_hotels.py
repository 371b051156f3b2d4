from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from environment.booking.seed_world import SeedWorld
from environment.booking.tests.ask import ask, miss

STAY = {"arrival_date": "2026-05-08", "departure_date": "2026-05-10"}
DAYS = [f"2026-05-{day:02d}" for day in range(1, 29)]


def destination(world: SeedWorld, kind: int = 0) -> dict[str, str]:
    hit = ask(world, "Search_Hotel_Destination", query=world.facts.places[0].city)[kind]
    return {"dest_id": hit["dest_id"], "search_type": hit["search_type"]}


def hotels(world: SeedWorld, **more: Any) -> list[dict[str, Any]]:
    return ask(world, "Search_Hotels", **destination(world), **STAY | more)["hotels"]


@pytest.mark.parametrize("party", [{}, {"adults": 2}, {"adults": 3, "children_age": "4,9"}, {"room_qty": 2}])
def test_the_price_of_a_search_is_the_price_of_the_cheapest_room(world: SeedWorld, party: dict[str, Any]) -> None:
    found = hotels(world, **party)
    assert found
    for hotel in found:
        rooms = ask(world, "Get_Room_List_With_Availability", hotel_id=hotel["hotel_id"], **STAY, **party)["rooms"]
        assert min(room["price"] for room in rooms) == rooms[0]["price"] == hotel["price"]


def test_a_stay_costs_its_nights_and_needs_them_all_free(world: SeedWorld) -> None:
    full = 0
    for hotel in world.hotels.hotels:
        for first, last in zip(DAYS, DAYS[2:], strict=False):
            nights = ask(world, "Get_Room_Availability", hotel_id=hotel.id, min_date=first, max_date=last)["avDates"]
            stay = {"hotel_id": hotel.id, "arrival_date": first, "departure_date": last}
            rooms = ask(world, "Get_Room_List_With_Availability", **stay)["rooms"]
            assert bool(rooms) == (len(nights) == 2)
            assert not rooms or rooms[0]["price"] == sum(night["price"] for night in nights)
            full += not rooms
    assert full > 0


def test_sorting_and_filters_keep_what_they_say(world: SeedWorld) -> None:
    everything = {h["hotel_id"]: h for h in hotels(world)}
    prices = [h["price"] for h in hotels(world, sort_by="price")]
    scores = [h["reviewScore"] for h in hotels(world, sort_by="bayesian_review_score")]
    assert prices == sorted(prices)
    assert scores == sorted(scores, reverse=True)
    middle = sorted(prices)[len(prices) // 2]
    assert [h for h in everything.values() if h["price"] <= middle] == hotels(world, price_max=middle)
    assert {h["hotel_id"] for h in hotels(world, price_min=middle)} == {
        i for i, h in everything.items() if h["price"] >= middle
    }


def test_filters_count_the_hotels_that_a_filtered_search_can_list(world: SeedWorld) -> None:
    groups = ask(world, "Get_Filter", **destination(world), **STAY)["filters"]
    options = [option for group in groups for option in group["options"]]
    assert options
    for option in options:
        listed = hotels(world, categories_filter=option["genericId"])
        assert len(listed) <= option["count"]
    stars = next(o["genericId"] for o in options if o["genericId"].startswith("class::"))
    for hotel in hotels(world, categories_filter=stars):
        assert ask(world, "Get_Hotel_Details", hotel_id=hotel["hotel_id"])["class"] == int(stars[-1])
    assert hotels(world, categories_filter="facility::none") == []


def test_what_a_search_says_of_a_hotel_its_pages_say_too(world: SeedWorld) -> None:
    for hotel in hotels(world):
        details = ask(world, "Get_Hotel_Details", hotel_id=int(hotel["hotel_id"]))
        assert (details["hotel_name"], details["city"]) == (hotel["name"], world.facts.places[0].city)
        assert ask(world, "Get_Hotel_Review_Scores", hotel_id=hotel["hotel_id"])["score"] == hotel["reviewScore"]


def test_a_hotel_is_found_by_name_and_then_alone(world: SeedWorld) -> None:
    hotel = world.hotels.hotels[5]
    (hit,) = ask(world, "Search_Hotel_Destination", query=hotel.name)
    assert hit == {"dest_id": hotel.id, "search_type": "hotel", "name": hotel.name}
    for day, after in pairwise(DAYS):
        stay = {"arrival_date": day, "departure_date": after}
        found = ask(world, "Search_Hotels", dest_id=hit["dest_id"], search_type="hotel", **stay)["hotels"]
        assert [h["hotel_id"] for h in found] in ([], [hotel.id])


def test_an_old_town_is_part_of_its_city(world: SeedWorld) -> None:
    part = ask(world, "Search_Hotels", **destination(world, 1), **STAY)["hotels"]
    assert {h["hotel_id"] for h in part} < {h["hotel_id"] for h in hotels(world)}


def test_hotels_around_a_point_lie_within_the_radius(world: SeedWorld) -> None:
    place = world.facts.places[0]
    point = {"latitude": str(place.latitude), "longitude": place.longitude}
    around = ask(world, "Search_Hotels_By_Coordinates", **point, radius=10, **STAY)["result"]
    assert {(h["hotel_id"], h["price"]) for h in around} == {(h["hotel_id"], h["price"]) for h in hotels(world)}
    nowhere = ask(world, "Search_Hotels_By_Coordinates", latitude=-80, longitude=0, radius=10, **STAY)
    assert nowhere["result"] == []


def test_reviews_come_in_each_of_the_orders_offered(world: SeedWorld) -> None:
    hotel_id = world.hotels.hotels[0].id
    orders = [o["sort_option_id"] for o in ask(world, "Get_Hotel_Reviews_Tips__Sort_Option", hotel_id=hotel_id)]
    read = {o: ask(world, "Get_Hotel_Reviews_Tips", hotel_id=hotel_id, sort_option_id=o)["reviews"] for o in orders}
    for order, key in (("sort_recent_desc", "date"), ("sort_score_desc", "score")):
        assert read[order] == sorted(read[order], key=lambda row: row[key], reverse=True)
    assert miss(world, "Get_Hotel_Reviews_Tips", hotel_id=hotel_id, sort_option_id="sort_odd")


def test_foreign_ids_and_days_beyond_the_calendar_are_misses(world: SeedWorld) -> None:
    place = destination(world)
    assert miss(world, "Get_Hotel_Details", hotel_id="1")
    assert miss(world, "Search_Hotels", **place | {"dest_id": "1"}, **STAY)
    assert miss(world, "Search_Hotels", **place | {"search_type": "district"}, **STAY)
    assert miss(world, "Search_Hotels", **place, arrival_date="2029-01-01", departure_date="2029-01-02")
    assert miss(world, "Get_Room_Availability", hotel_id="1", min_date=DAYS[0], max_date=DAYS[1])
