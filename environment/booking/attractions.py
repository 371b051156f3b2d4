"""Attractions: a location → its attractions → details, start times of a day, open days."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from environment.booking.draw import Ids, Tokens, between, draw
from environment.booking.facts import Answer, Facts, day_number, day_text
from environment.booking.hotels import landmark_cities
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text

_KINDS = (
    ("Walking Tour", 15), ("Food Tour", 60), ("Bike Tour", 30), ("City Museum", 12), ("Art Gallery", 14),
    ("Botanic Garden", 9), ("Boat Trip", 35), ("Night Tour", 25), ("Cooking Class", 70),
)  # fmt: skip
_FIRST_OPEN = 40
"""Day of the calendar on which `Get_Availability_Calendar` begins: it takes no date and the world has no today."""


@dataclass(frozen=True)
class Attraction:
    """One attraction."""

    index: int
    id: str
    slug: str
    name: str
    city: int
    price: int
    """Ordinary price of one ticket, in USD."""
    score: float
    minutes: int


class Attractions:
    """The attractions of one world."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.seed, self.places = facts, facts.seed, facts.places
        count = facts.size.attractions * len(self.places)
        self.tokens = Tokens(self.seed, "attraction", 30 * count, "pr")
        self.place_ids = Ids(self.seed, "attraction place", len(self.places), 5000, 9999)
        self.attractions = [self._attraction(i) for i in range(count)]
        self.by_name = {fold_text(a.name): a for a in self.attractions}
        self.landmarks = landmark_cities(facts) if facts.linked else {}
        self.by_slug = {a.slug: a for a in self.attractions}
        self.by_id = {a.id: a for a in self.attractions}

    @property
    def tools(self) -> dict[str, Answer]:
        """Tool name → its answer."""
        return {
            "Search_Attraction_Location": self.search_location,
            "Search_Attractions": self.search,
            "Get_Attraction_Details": self.details,
            "Get_Availability": self.times,
            "Get_Availability_Calendar": self.calendar,
        }

    def is_open(self, attraction: Attraction, day: int) -> bool:
        """Tell whether an attraction is open: all but one fixed day of the week."""
        return (day - draw(self.seed, "closed", attraction.index)) % 7 != 0

    def search_location(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Attraction_Location`: a city with its two best-known attractions, or one by name."""
        query = arguments["query"]
        city = self.facts.cities.get(query)
        if city is not None:
            place = self.places[city]
            hit = {"id": self.place_ids.text(city), "cityName": place.city, "country": place.country}
            return {"destinations": [hit], "products": self._products(self._popular(city)[:2])}
        found = self.by_name.get(query)
        if found is None:
            city = self.landmarks.get(query)
            return None if city is None else {"destinations": [], "products": self._products(self._popular(city)[:2])}
        return {"destinations": [], "products": self._products([found])}

    def search(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Attractions`: the attractions of a location in the order asked for."""
        city = self.place_ids.index(arguments["id"])
        if city is None:
            return None
        orders: dict[str, Callable[[Attraction], float]] = {
            "lowest_price": lambda a: a.price,
            "attr_book_score": lambda a: -a.score,
        }
        ranked = self._popular(city)
        if (order := orders.get(arguments.get("sortBy", "trending"))) is not None:
            ranked.sort(key=order)
        return {"products": [{"id": a.id, "slug": a.slug, "name": a.name, "price": a.price} for a in ranked]}

    def details(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Attraction_Details`."""
        found = self.by_slug.get(arguments["slug"])
        if found is None:
            return None
        return {
            "id": found.id,
            "slug": found.slug,
            "name": found.name,
            "cityName": self.places[found.city].city,
            "price": found.price,
            "rating": found.score,
            "durationMinutes": found.minutes,
            "freeCancellation": draw(self.seed, "cancel", found.id) % 3 > 0,
        }

    def times(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Availability`: the start times of a day, none when closed; without a date, of the first day."""
        found = self.by_slug.get(arguments["slug"])
        day = day_number(arguments["date"]) if "date" in arguments else _FIRST_OPEN
        if found is None or day is None:
            return None
        if not self.is_open(found, day):
            return []
        hours = sorted({between(9, 17, self.seed, "hour", found.index, day, n) for n in range(3)})
        price = found.price * between(95, 115, self.seed, "ticket", found.index, day) // 100
        return [{"start": f"{day_text(day)}T{hour:02d}:00", "price": price} for hour in hours]

    def calendar(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Availability_Calendar`: the first four open days from the first day on."""
        found = self.by_id.get(arguments["id"])
        if found is None:
            return None
        days = [day for day in range(_FIRST_OPEN, _FIRST_OPEN + 6) if self.is_open(found, day)][:4]
        return [{"date": day_text(day), "available": True} for day in days]

    def _attraction(self, index: int) -> Attraction:
        city, number = divmod(index, self.facts.size.attractions)
        first = draw(self.seed, "kinds", city) % len(_KINDS)
        kind, base = _KINDS[(first + number) % len(_KINDS)]
        token = self.tokens.text(index)
        return Attraction(
            index=index,
            id=token.upper(),
            slug=f"{token}-{kind.lower().replace(' ', '-')}",
            name=f"{self.places[city].city} {kind}",
            city=city,
            price=base + between(0, base, self.seed, "price", index),
            score=between(34, 50, self.seed, "rating", index) / 10,
            minutes=15 * between(4, 16, self.seed, "minutes", index),
        )

    def _products(self, found: list[Attraction]) -> list[JsonValue]:
        return [
            {"productId": a.id, "productSlug": a.slug, "title": a.name}
            | self.facts.link(cityName=self.places[a.city].city)
            for a in found
        ]

    def _popular(self, city: int) -> list[Attraction]:
        here = self.attractions[city * self.facts.size.attractions : (city + 1) * self.facts.size.attractions]
        return sorted(here, key=lambda a: draw(self.seed, "popular attraction", a.index))
