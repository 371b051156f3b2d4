"""Flights: places → offers of a day → details and seats; lowest fares around a date; trips of several legs.

An offer's token stands for its route, day, cabin and position, so its details need no memory of the search.
Fares are in USD for one adult; children pay three quarters.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from environment.booking.draw import Tokens, between, draw, pick
from environment.booking.facts import DAYS, Answer, Facts, day_number, day_text, is_weekend
from environment.booking.places import kilometres
from environment.core.calls import JsonValue

OFFERS = 3
"""Offers a route and day."""
CABINS = {"ECONOMY": 100, "PREMIUM_ECONOMY": 160, "BUSINESS": 310, "FIRST": 480}
"""Cabin → percent of the economy fare."""
_AIRLINES = ("Aeris", "Bluewing", "Cirrus", "Meridian", "Nordair", "Pacifica", "Sunjet", "Velo Air")


@dataclass(frozen=True)
class Flight:
    """One offer: position `number` on a route and day in a cabin."""

    origin: int
    target: int
    day: int
    cabin: str
    number: int


class Flights:
    """The flights of one world."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.seed, self.places = facts, facts.seed, facts.places
        n = len(self.places)
        self.tokens = Tokens(self.seed, "flight", n * n * DAYS * len(CABINS) * OFFERS, "f")
        self.trips = Tokens(self.seed, "trip", (n * n * DAYS * OFFERS) ** 2 * len(CABINS), "m")
        self._far: dict[tuple[int, int], float] = {}
        self.ids = {f"{p.iata}.AIRPORT": i for i, p in enumerate(self.places)}

    @property
    def tools(self) -> dict[str, Answer]:
        """Tool name → its answer."""
        return {
            "Search_Flight_Location": self.search_location,
            "Search_Flights": self.search,
            "Get_Flight_Details": self.details,
            "Get_Seat_Map": self.seats,
            "Get_Min_Price": self.lowest,
            "Search_Flights_Multi_Stops": self.search_legs,
            "Get_Min_Price_Multi_Stops": self.lowest_legs,
        }

    def token(self, flight: Flight) -> str:
        """Return the token of an offer."""
        route = (flight.origin * len(self.places) + flight.target) * DAYS + flight.day
        return self.tokens.text((route * len(CABINS) + list(CABINS).index(flight.cabin)) * OFFERS + flight.number)

    def flight(self, token: str) -> Flight | None:
        """Return the offer of a token; None for text that is no token or flies nowhere."""
        index = self.tokens.index(token)
        if index is None:
            return None
        index, number = divmod(index, OFFERS)
        index, cabin = divmod(index, len(CABINS))
        index, day = divmod(index, DAYS)
        origin, target = divmod(index, len(self.places))
        return None if origin == target else Flight(origin, target, day, list(CABINS)[cabin], number)

    def offers(self, origin: int, target: int, day: int, cabin: str = "ECONOMY") -> list[Flight]:
        """Return the offers of a route, day and cabin."""
        return [Flight(origin, target, day, cabin, n) for n in range(OFFERS)]

    def price(self, flight: Flight) -> int:
        """Return the fare for one adult."""
        far = self._kilometres(flight)
        percent = 80 + draw(self.seed, "fare", flight.origin, flight.target, flight.day, flight.number) % 60
        percent += 15 if is_weekend(flight.day) else 0
        return int(30 + far * 0.07) * percent * CABINS[flight.cabin] // 10000

    def _kilometres(self, flight: Flight) -> float:
        key = (flight.origin, flight.target)
        if key not in self._far:
            start, end = (self.places[city].airport_point for city in key)
            self._far[key] = kilometres(start, end)
        return self._far[key]

    def stops(self, flight: Flight) -> int:
        """Return the number of stops: the last offer of a day always has one."""
        return 1 if flight.number == OFFERS - 1 else 0

    def minutes(self, flight: Flight) -> int:
        """Return the travelling time, in steps of five minutes."""
        far = self._kilometres(flight)
        taxiing = between(0, 5, self.seed, "taxiing", flight.origin, flight.target, flight.number)
        return 5 * (int(8 + far / 70) + taxiing + 18 * self.stops(flight))

    def departure(self, flight: Flight) -> str:
        """Return the local time of departure, HH:MM; later offers leave later."""
        slot = draw(self.seed, "slot", flight.origin, flight.target, flight.day, flight.number) % 48
        return f"{6 + 5 * flight.number + slot // 12:02d}:{slot % 12 * 5:02d}"

    def airline(self, flight: Flight) -> str:
        """Return the airline; it flies the same slot every day."""
        return pick(_AIRLINES, self.seed, "airline", flight.origin, flight.target, flight.number)

    def search_location(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Flight_Location`: the airport of a city or of that name."""
        query = arguments["query"]
        city = self.facts.cities.get(query, self.facts.airports.get(query))
        if city is None:
            return None
        place = self.places[city]
        return [{"id": f"{place.iata}.AIRPORT", "name": place.airport, "cityName": place.city}]

    def search(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Flights`: the offers of a day; with a return date the price covers both ways."""
        route, day = self._route(arguments), day_number(arguments["departDate"])
        back = day_number(arguments["returnDate"]) if "returnDate" in arguments else None
        if route is None or day is None or ("returnDate" in arguments and back is None):
            return None
        cabin = arguments.get("cabinClass", "ECONOMY")
        extra = 0 if back is None else min(self.price(f) for f in self.offers(route[1], route[0], back, cabin))
        offers = sorted(self.offers(*route, day, cabin), key=self._order(arguments.get("sort", "BEST")))
        percent = self._party(arguments)
        return {
            "flightOffers": [
                {
                    "token": self.token(f),
                    "airline": self.airline(f),
                    "price": (self.price(f) + extra) * percent // 100,
                    "departureTime": self.departure(f),
                    "stops": self.stops(f),
                }
                for f in offers
            ]
        }

    def details(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Flight_Details`, for an offer of either search."""
        flight = self.flight(arguments["token"])
        if flight is not None:
            return {"price": self.price(flight), **self._leg(flight)}
        legs = self.legs_of(arguments["token"])
        if legs is None:
            return None
        price = sum(map(self.price, legs))
        return {"price": price, "segments": [self._leg(f) for f in legs]}

    def seats(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Seat_Map`: four free seats and what choosing them costs."""
        token = arguments["offerToken"]
        flight = self.flight(token) or next(iter(self.legs_of(token) or ()), None)
        if flight is None:
            return None
        row = between(1, 30, self.seed, "row", token)
        letters = [pick("ABC", self.seed, "left", token), pick("DEF", self.seed, "right", token)]
        rows = [(row, letters[0]), (row, letters[1]), (row + 3, letters[0]), (row + 5, letters[1])]
        return {"seats": [{"seat": f"{r}{c}", "price": between(0, 9, self.seed, token, r, c) * 4} for r, c in rows]}

    def lowest(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Min_Price`: the lowest fare of the day and of the days before and after."""
        route, day = self._route(arguments), day_number(arguments["departDate"])
        back = day_number(arguments["returnDate"]) if "returnDate" in arguments else None
        if route is None or day is None or ("returnDate" in arguments and back is None):
            return None
        cabin = arguments.get("cabinClass", "ECONOMY")
        extra = 0 if back is None else self.lowest_fare(route[1], route[0], back, cabin)
        days = [d for d in (day, day - 1, day + 1) if 0 <= d < DAYS]
        return [{"departureDate": day_text(d), "price": self.lowest_fare(*route, d, cabin) + extra} for d in days]

    def lowest_fare(self, origin: int, target: int, day: int, cabin: str = "ECONOMY") -> int:
        """Return the lowest fare of a route, day and cabin."""
        return min(self.price(f) for f in self.offers(origin, target, day, cabin))

    def search_legs(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Flights_Multi_Stops`: offers of two legs, each leg at the same position of its day."""
        legs = self._legs(arguments)
        if legs is None or len(legs) != 2:
            return None
        trips = [[self.offers(*leg, arguments.get("cabinClass", "ECONOMY"))[n] for leg in legs] for n in range(OFFERS)]
        if (sort := arguments.get("sort", "BEST")) != "BEST":
            trips.sort(key=lambda trip: sum(map(self._order(sort), trip)))
        percent = self._party(arguments)
        return {"flightOffers": [self._trip(trip, percent) for trip in trips]}

    def lowest_legs(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Min_Price_Multi_Stops`: the sum of the lowest fares of the legs."""
        legs = self._legs(arguments)
        if legs is None:
            return None
        cabin = arguments.get("cabinClass", "ECONOMY")
        fare = sum(self.lowest_fare(*leg, cabin) for leg in legs)
        return [{"departureDate": day_text(legs[0][2]), "price": fare}]

    def legs_of(self, token: str) -> list[Flight] | None:
        """Return the two legs of a trip's token; None for text that is no such token."""
        index = self.trips.index(token)
        if index is None:
            return None
        index, cabin = divmod(index, len(CABINS))
        legs: list[Flight] = []
        for part in divmod(index, len(self.places) ** 2 * DAYS * OFFERS):
            rest, number = divmod(part, OFFERS)
            rest, day = divmod(rest, DAYS)
            legs.append(Flight(*divmod(rest, len(self.places)), day, list(CABINS)[cabin], number))
        return legs

    def _trip(self, trip: list[Flight], percent: int) -> dict[str, JsonValue]:
        price = sum(map(self.price, trip)) * percent // 100
        return {"token": self._trip_token(trip), "airline": self.airline(trip[0]), "price": price}

    def _trip_token(self, trip: list[Flight]) -> str:
        index = 0
        for f in trip:
            index = (index * len(self.places) + f.origin) * len(self.places) + f.target
            index = (index * DAYS + f.day) * OFFERS + f.number
        return self.trips.text(index * len(CABINS) + list(CABINS).index(trip[0].cabin))

    def _route(self, arguments: dict[str, JsonValue]) -> tuple[int, int] | None:
        origin, target = self.ids.get(arguments["fromId"]), self.ids.get(arguments["toId"])
        return None if origin is None or target is None or origin == target else (origin, target)

    def _legs(self, arguments: dict[str, JsonValue]) -> list[tuple[int, int, int]] | None:
        legs: list[tuple[int, int, int]] = []
        for leg in arguments["legs"]:
            route, day = self._route(leg), day_number(leg["date"])
            if route is None or day is None:
                return None
            legs.append((*route, day))
        return legs

    def _party(self, arguments: dict[str, JsonValue]) -> int:
        ages = arguments.get("children")
        return 100 * arguments.get("adults", 1) + 75 * (len(ages.split(",")) if ages else 0)

    def _order(self, sort: str) -> Callable[[Flight], float]:
        return {"CHEAPEST": self.price, "FASTEST": self.minutes}.get(sort, lambda flight: flight.number)

    def _leg(self, flight: Flight) -> dict[str, JsonValue]:
        origin, target = self.places[flight.origin], self.places[flight.target]
        number = between(100, 990, self.seed, "number", flight.origin, flight.target, flight.number)
        return {
            "flightNumber": f"{self.airline(flight)[:2].upper()}{number}",
            "departureTime": f"{day_text(flight.day)}T{self.departure(flight)}",
            "durationMinutes": self.minutes(flight),
            "departureAirport": {"name": origin.airport},
            "arrivalAirport": {"name": target.airport},
            "cabinClass": flight.cabin,
        }
