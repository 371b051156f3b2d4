"""Rental cars: places with coordinates → cars between two of them → details, supplier, packages, summary.

A search key stands for both places, the first day and the number of days, so what follows needs no memory of the
search. Two spots a city, the airport and the centre; coordinates mean the nearest spot within `REACH` kilometres.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from environment.booking.draw import Ids, Tokens, between, draw, pick
from environment.booking.facts import DAYS, Answer, Facts, day_number
from environment.booking.places import kilometres
from environment.core.calls import JsonValue

REACH = 25
_LONGEST = 60
_MODELS = (
    ("Fiat Panda", "Mini", 4, 24), ("Toyota Yaris", "Economy", 5, 28), ("Renault Clio", "Economy", 5, 29),
    ("VW Golf", "Compact", 5, 34), ("Ford Focus", "Compact", 5, 33), ("Skoda Octavia", "Standard", 5, 41),
    ("Kia Sportage", "SUV", 5, 52), ("Volvo XC60", "SUV", 5, 68), ("Ford Galaxy", "Van", 7, 74),
)  # fmt: skip
_SUPPLIERS = ("Bluewheel", "CityDrive", "Northcar", "Rentora", "Swiftlane")
_REMARKS = ("Quick pick-up", "Clean car", "Long queue", "Friendly desk", "Fair price", "Hidden fees")
_PACKAGES = (("basic", "Basic cover", 0), ("full", "Full protection", 12), ("premium", "Premium protection", 19))


@dataclass(frozen=True)
class Vehicle:
    """One car of one city."""

    index: int
    id: str
    city: int
    model: str
    group: str
    seats: int
    supplier: str
    day_price: int
    """USD a day."""


@dataclass(frozen=True)
class Rental:
    """What a search key stands for; a spot is twice the city, plus one for the centre."""

    pick_up: int
    drop_off: int
    day: int
    days: int


class Cars:
    """The rental cars of one world."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.seed, self.places = facts, facts.seed, facts.places
        spots = 2 * len(self.places)
        self.ids = Ids(self.seed, "vehicle", len(self.places) * facts.size.cars, 10000, 99999)
        self.keys = Tokens(self.seed, "search key", spots * spots * DAYS * _LONGEST, "k")
        self.vehicles = [self._vehicle(i) for i in range(len(self.places) * facts.size.cars)]

    @property
    def tools(self) -> dict[str, Answer]:
        """Tool name → its answer."""
        of_one: dict[str, Callable[[Vehicle, Rental], JsonValue]] = {
            "Vehicle_Details": self._details,
            "Vehicle_Supplier_Details": self._supplier,
            "Vehicle_Supplier_Ratings": self._ratings,
            "Vehicle_Supplier_Review": self._reviews,
            "Get_Packages": self._packages,
            "Booking_Summary": self._summary,
        }
        searches: dict[str, Answer] = {
            "Search_Car_Location": self.search_location,
            "Search_Car_Rentals": self.search,
        }
        return searches | {name: self._on_vehicle(answer) for name, answer in of_one.items()}

    def spot(self, number: int) -> tuple[str, tuple[float, float]]:
        """Return name and point of a spot."""
        place = self.places[number // 2]
        return (f"{place.city} Centre", place.centre) if number % 2 else (place.airport, place.airport_point)

    def nearest_spot(self, point: tuple[float, float]) -> int | None:
        """Return the spot nearest to a point, None where there is none within reach."""
        far, spot = min((kilometres(point, self.spot(n)[1]), n) for n in range(2 * len(self.places)))
        return spot if far <= REACH else None

    def key(self, rental: Rental) -> str:
        """Return the search key of a rental."""
        spots = rental.pick_up * 2 * len(self.places) + rental.drop_off
        return self.keys.text((spots * DAYS + rental.day) * _LONGEST + rental.days)

    def rental(self, key: str) -> Rental | None:
        """Return what a search key stands for."""
        index = self.keys.index(key)
        if index is None:
            return None
        index, days = divmod(index, _LONGEST)
        spots, day = divmod(index, DAYS)
        return Rental(*divmod(spots, 2 * len(self.places)), day, days)

    def price(self, vehicle: Vehicle, rental: Rental) -> int:
        """Return the price of a rental in USD: the days, and a fee for another drop-off place."""
        percent = 90 + draw(self.seed, "rate", vehicle.index, rental.day) % 30
        fee = 0 if rental.pick_up == rental.drop_off else 25 if rental.pick_up // 2 == rental.drop_off // 2 else 140
        return vehicle.day_price * max(1, rental.days) * percent // 100 + fee

    def of_city(self, city: int) -> list[Vehicle]:
        """Return the cars of a city."""
        return self.vehicles[city * self.facts.size.cars :][: self.facts.size.cars]

    def search_location(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Car_Location`: airport and centre of a city, or one airport."""
        query = arguments["query"]
        city, airport = self.facts.cities.get(query), self.facts.airports.get(query)
        if city is not None:
            return [self._hit(2 * city), self._hit(2 * city + 1)]
        return None if airport is None else [self._hit(2 * airport)]

    def search(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Car_Rentals`: the cars of the pick-up city, cheapest first."""
        rental = self._rental_of(arguments)
        if rental is None:
            return None
        here = self.of_city(rental.pick_up // 2)
        priced = sorted(((self.price(v, rental), v) for v in here), key=lambda row: row[0])
        rows = [{"vehicle_id": v.id, "v_name": v.model, "price": price, "supplier": v.supplier} for price, v in priced]
        return {"search_key": self.key(rental), "search_results": rows}

    def _rental_of(self, arguments: dict[str, JsonValue]) -> Rental | None:
        pick_up = self.nearest_spot((arguments["pick_up_latitude"], arguments["pick_up_longitude"]))
        drop_off = self.nearest_spot((arguments["drop_off_latitude"], arguments["drop_off_longitude"]))
        first, last = day_number(arguments["pick_up_date"]), day_number(arguments["drop_off_date"])
        if pick_up is None or drop_off is None or first is None or last is None:
            return None
        return Rental(pick_up, drop_off, first, min(last - first, _LONGEST - 1))

    def _vehicle(self, index: int) -> Vehicle:
        city, number = divmod(index, self.facts.size.cars)
        first = draw(self.seed, "models", city) % len(_MODELS)
        model, group, seats, base = _MODELS[(first + 2 * number) % len(_MODELS)]
        return Vehicle(
            index=index,
            id=self.ids.text(index),
            city=city,
            model=model,
            group=group,
            seats=seats,
            supplier=pick(_SUPPLIERS, self.seed, "supplier", index),
            day_price=base * between(85, 140, self.seed, "car level", index) // 100,
        )

    def _hit(self, spot: int) -> dict[str, JsonValue]:
        name, (latitude, longitude) = self.spot(spot)
        place = {"name": name, "coordinates": {"latitude": latitude, "longitude": longitude}}
        return place | self.facts.link(city=self.places[spot // 2].city)

    def _on_vehicle(self, answer: Callable[[Vehicle, Rental], JsonValue]) -> Answer:
        def of_arguments(arguments: dict[str, JsonValue]) -> JsonValue:
            index, rental = self.ids.index(arguments["vehicle_id"]), self.rental(arguments["search_key"])
            if index is None or rental is None or self.vehicles[index].city != rental.pick_up // 2:
                return None
            return answer(self.vehicles[index], rental)

        return of_arguments

    def _details(self, vehicle: Vehicle, rental: Rental) -> JsonValue:
        return {
            "vehicle_id": vehicle.id,
            "v_name": vehicle.model,
            "group": vehicle.group,
            "seats": vehicle.seats,
            "transmission": pick(("Manual", "Automatic"), self.seed, "gears", vehicle.index),
            "mileage": pick(("unlimited", "200 km a day"), self.seed, "mileage", vehicle.index),
            "price": self.price(vehicle, rental),
        }

    def _supplier(self, vehicle: Vehicle, rental: Rental) -> JsonValue:
        opens = pick(("06:00", "07:00", "08:00"), self.seed, "opens", vehicle.supplier, rental.pick_up)
        return {"name": vehicle.supplier, "address": self.spot(rental.pick_up)[0], "opens": opens, "closes": "22:00"}

    def _ratings(self, vehicle: Vehicle, _: Rental) -> JsonValue:
        def rate(what: str) -> float:
            return between(58, 97, self.seed, what, vehicle.supplier, vehicle.city) / 10

        count = between(20, 900, self.seed, "raters", vehicle.supplier, vehicle.city)
        return {"name": vehicle.supplier, "average": rate("average"), "cleanliness": rate("clean"), "count": count}

    def _reviews(self, vehicle: Vehicle, _: Rental) -> JsonValue:
        words = [draw(self.seed, "remark", vehicle.supplier, vehicle.city, n) for n in range(3)]
        return {"reviews": [{"comment": _REMARKS[w % 6], "score": 5 + w % 6} for w in words]}

    def _packages(self, vehicle: Vehicle, rental: Rental) -> JsonValue:
        days = max(1, rental.days)
        daily = between(0, 4, self.seed, "cover", vehicle.index)
        return [{"id": i, "name": name, "price": days * (cost + daily if cost else 0)} for i, name, cost in _PACKAGES]

    def _summary(self, vehicle: Vehicle, rental: Rental) -> JsonValue:
        return {
            "v_name": vehicle.model,
            "total": self.price(vehicle, rental),
            "deposit": 50 * between(2, 12, self.seed, "deposit", vehicle.index),
            "pick_up": self.spot(rental.pick_up)[0],
            "drop_off": self.spot(rental.drop_off)[0],
        }
