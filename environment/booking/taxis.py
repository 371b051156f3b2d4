"""Points on the map and taxis between them: airports, city centres, stations and hotels.

`Location_to_Lat_Long` and `Taxi_Search_Location` know the same spots under the same place ids.
"""
from __future__ import annotations

from dataclasses import dataclass

from environment.booking.draw import Tokens, between
from environment.booking.facts import Answer, Facts, day_number
from environment.booking.hotels import LANDMARKS, Hotels
from environment.booking.places import kilometres
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text

REACH = 200
"""Kilometres a taxi drives at most."""
_VEHICLES = (("Standard", 100), ("People carrier", 140), ("Executive", 190))


@dataclass(frozen=True)
class Spot:
    """A place that has a name, a point and a place id."""

    index: int
    name: str
    city: str
    point: tuple[float, float]


class Taxis:
    """The spots and taxis of one world."""

    def __init__(self, facts: Facts, hotels: Hotels) -> None:
        self.facts, self.seed, self.hotels = facts, facts.seed, hotels
        named = [(name, p.city, point) for p in facts.places for name, point in (
            (p.city, p.centre), (p.airport, p.airport_point),
            (f"{p.city} Central Station", (round(p.latitude + 0.01, 2), p.longitude)),
        )]  # fmt: skip
        named += [(h.name, facts.places[h.city].city, h.point) for h in hotels.hotels]
        if facts.linked:
            sights = ((p, n, name) for p in facts.places for n, name in enumerate(_sights(p.city)))
            named += [(name, p.city, _beside(p.centre, n)) for p, n, name in sights]
        self.spots = [Spot(i, *what) for i, what in enumerate(named)]
        self.ids = Tokens(self.seed, "spot", 30 * len(self.spots), "g")
        self.by_name = {fold_text(spot.name): spot for spot in self.spots}
        self.by_name |= {name: self.spots[3 * city] for name, city in facts.cities.items()}
        self.by_name |= {name: self.spots[3 * city + 1] for name, city in facts.airports.items()}

    @property
    def tools(self) -> dict[str, Answer]:
        """Tool name → its answer."""
        return {
            "Location_to_Lat_Long": self.locate,
            "Taxi_Search_Location": self.search_location,
            "Search_Taxi": self.search,
            "Get_Nearby_Cities": self.nearby,
        }

    def place_id(self, name: str) -> str:
        """Return the place id of a named spot; KeyError for a name the world does not know."""
        return self.ids.text(self.by_name[fold_text(name)].index)

    def locate(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Location_to_Lat_Long`: the point of a named spot."""
        spot = self.by_name.get(arguments["query"])
        if spot is None:
            return None
        point = {"lat": spot.point[0], "lng": spot.point[1]}
        found = {"place_id": self.ids.text(spot.index), "name": spot.name, "geometry": {"location": point}}
        return [found | self.facts.link(city=spot.city)]

    def search_location(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Taxi_Search_Location`: a named spot; for a city also its airport and its station."""
        spot = self.by_name.get(arguments["query"])
        if spot is None:
            return None
        is_city = spot.index < 3 * len(self.facts.places) and spot.index % 3 == 0
        found = self.spots[spot.index : spot.index + 3] if is_city else [spot]
        return [
            {"googlePlaceId": self.ids.text(s.index), "name": s.name, "city": s.city} | self.facts.link_point(s.point)
            for s in found
        ]

    def search(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Taxi`: three kinds of car; nights cost a quarter more."""
        ends = [self._spot_of(arguments[f"{end}_place_id"]) for end in ("pick_up", "drop_off")]
        if ends[0] is None or ends[1] is None or ends[0] == ends[1] or day_number(arguments["pick_up_date"]) is None:
            return None
        far = kilometres(ends[0].point, ends[1].point)
        if far > REACH:
            return None
        night = 125 if not "06:00" <= arguments["pick_up_time"] < "22:00" else 100
        fare = (6 + 1.7 * far) * night / 100
        return {"results": [self._offer(ends[0], ends[1], far, fare, n) for n in range(len(_VEHICLES))]}

    def nearby(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Nearby_Cities`: the three nearest cities of the world."""
        near = self.facts.near((arguments["latitude"], arguments["longitude"]), 21000)[:3]
        places = [(far, self.facts.places[city], city) for far, city in near]
        return [
            {"name": p.city, "country": p.country, "distance_km": round(far)} | self._destination(city)
            for far, p, city in places
        ]

    def _destination(self, city: int) -> dict[str, JsonValue]:
        return self.facts.link(dest_id=self.hotels.dest_ids.text(2 * city), dest_type="city")

    def _spot_of(self, place_id: str) -> Spot | None:
        index = self.ids.index(place_id)
        return None if index is None or index >= len(self.spots) else self.spots[index]

    def _offer(self, start: Spot, end: Spot, far: float, fare: float, number: int) -> dict[str, JsonValue]:
        kind, percent = _VEHICLES[number]
        minutes = 5 + int(far * 1.3) + between(0, 6, self.seed, "traffic", start.index, end.index)
        price = int(fare * percent / 100)
        return {"resultId": str(number + 1), "vehicleType": kind, "price": price, "duration": minutes}


def _sights(city: str) -> list[str]:
    """Return the landmarks of a city; its station is a spot of its own."""
    return [f"{city} {name}" for name in LANDMARKS if name != "Central Station"]


def _beside(point: tuple[float, float], number: int) -> tuple[float, float]:
    return round(point[0] + 0.01 * (number % 3 - 1), 2), round(point[1] + 0.01 * (number // 3 + 1), 2)
