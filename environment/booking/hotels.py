"""Hotels: destination → hotels of a stay → rooms, policies, payment, reviews.

Everything about a night follows from `Hotels.night_price` and `Hotels.is_free`, so a search, its filters, the room list
and the availability calendar agree: the price in a search is the price of the cheapest room of that stay.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil

from environment.booking.draw import Ids, between, draw, pick
from environment.booking.facts import Answer, Facts, day_number, day_text, is_weekend
from environment.booking.places import kilometres
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text

_FIRST = (
    "Amber", "Azure", "Birch", "Cedar", "Copper", "Coral", "Crystal", "Garden", "Golden", "Grand", "Harbour", "Ivory",
    "Jade", "Laurel", "Linden", "Maple", "Opal", "Park", "Pearl", "Royal", "Silver", "Sunset", "Velvet", "Willow",
)  # fmt: skip
_LAST = (
    "Arms", "Court", "Crown", "Gate", "Hall", "Hotel", "House", "Inn", "Lodge", "Manor", "Mews", "Palace",
    "Place", "Plaza", "Point", "Rooms", "Square", "Star", "Suites", "Tower", "Terrace", "View", "Villa", "Yard",
)  # fmt: skip
_ROOMS = (("Double Room", 100), ("Twin Room", 110), ("Family Room", 135), ("Suite", 165))
_CARDS = ("Visa", "Mastercard", "American Express", "Diners Club", "JCB", "UnionPay", "Maestro")
_FACILITIES = {"facility::107": "Free WiFi", "facility::2": "Parking", "facility::433": "Pool", "facility::54": "Spa"}
_SORTS = (("sort_most_relevant", "Most relevant"), ("sort_recent_desc", "Newest first"), ("sort_score_desc", "Best"))
_PRAISE = ("Friendly staff", "Quiet room", "Great breakfast", "Good location", "Small bathroom", "Noisy street")
LANDMARKS = ("Cathedral", "Old Market", "Opera House", "Central Station", "City Park", "Town Hall")
"""Sights every city has."""


@dataclass(frozen=True)
class Hotel:
    """One hotel."""

    index: int
    id: str
    name: str
    city: int
    stars: int
    point: tuple[float, float]
    score: float
    base: int
    """Price of an ordinary night for one adult, in USD."""
    facilities: tuple[str, ...]


class Hotels:
    """The hotels of one world."""

    def __init__(self, facts: Facts) -> None:
        self.facts, self.seed = facts, facts.seed
        self.places = facts.places
        per_city = facts.size.hotels
        self.ids = Ids(self.seed, "hotel", len(self.places) * per_city, 10000, 99999)
        self.dest_ids = Ids(self.seed, "dest", 2 * len(self.places), 1000, 4999)
        self.hotels = [self._hotel(i, i // per_city) for i in range(len(self.places) * per_city)]
        self.by_name = {fold_text(h.name): h for h in self.hotels}
        self._nights: dict[tuple[int, int], int | None] = {}

    @property
    def tools(self) -> dict[str, Answer]:
        """Tool name → its answer."""
        of_one: dict[str, Callable[[Hotel], JsonValue]] = {
            "Get_Hotel_Details": self._details,
            "Get_Description_And_Info": self._description,
            "Get_Hotel_Policies": self._policies,
            "Get_Hotel_Review_Scores": self._scores,
            "Get_Hotel_Reviews_Tips__Sort_Option": lambda _: [{"sort_option_id": i, "name": n} for i, n in _SORTS],
            "Get_Popular_Attraction_Near_By": self._landmarks,
            "Get_Question_And_Answer": self._questions,
            "Payment_features_of_the_Hotel": self._payment,
            "Property_Children_Policies": self._children,
        }
        return {name: self._on_hotel(answer) for name, answer in of_one.items()} | {
            "Search_Hotel_Destination": self.search_destination,
            "Search_Hotels": self.search,
            "Search_Hotels_By_Coordinates": self.search_around,
            "Get_Filter": self.filters,
            "Get_Room_List_With_Availability": self.rooms,
            "Get_Room_Availability": self.calendar,
            "Get_Hotel_Reviews_Tips": self.reviews,
        }

    def _hotel(self, index: int, city: int) -> Hotel:
        name_number = (index * 5 + draw(self.seed, "names") % 576) % 576
        stars = between(2, 5, self.seed, "stars", index)
        offset = [between(-3, 3, self.seed, axis, index) / 100 for axis in ("lat", "lon")]
        place = self.places[city]
        offered = tuple(f for f in _FACILITIES if draw(self.seed, f, index) % 3)
        return Hotel(
            index=index,
            id=self.ids.text(index),
            name=f"{_FIRST[name_number % 24]} {_LAST[name_number // 24]}",
            city=city,
            stars=stars,
            point=(round(place.latitude + offset[0], 2), round(place.longitude + offset[1], 2)),
            score=between(62, 96, self.seed, "score", index) / 10,
            base=between(30, 70, self.seed, "level", city) + stars * between(14, 34, self.seed, "base", index),
            facilities=(f"class::{stars}", *offered),
        )

    def night_price(self, hotel: Hotel, day: int) -> int:
        """Return the price in USD of the night that begins on a day, for one adult in the cheapest room."""
        percent = 92 + draw(self.seed, "night", hotel.index, day) % 24 + (14 if is_weekend(day) else 0)
        return hotel.base * percent // 100

    def is_free(self, hotel: Hotel, day: int) -> bool:
        """Tell whether the hotel has rooms for the night that begins on a day: nine nights in ten."""
        return draw(self.seed, "free", hotel.index, day) % 10 != 0

    def _night(self, hotel: Hotel, day: int) -> int | None:
        """Return the price of a free night, None for one sold out; remembered, since every stay asks again."""
        key = (hotel.index, day)
        if key not in self._nights:
            self._nights[key] = self.night_price(hotel, day) if self.is_free(hotel, day) else None
        return self._nights[key]

    def price(self, hotel: Hotel, arrival: int, departure: int, party: dict[str, JsonValue]) -> int | None:
        """Return the price of a stay in the cheapest room; None when a night is sold out."""
        total = 0
        for day in range(arrival, departure):
            night = self._night(hotel, day)
            if night is None:
                return None
            total += night
        ages = party.get("children_age")
        people = 100 + 25 * (party.get("adults", 1) - 1) + 10 * (len(ages.split(",")) if ages else 0)
        return total * people // 100 * party.get("room_qty", 1)

    def search_destination(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Hotel_Destination`: the city and its old town, or one hotel by its name."""
        query = arguments["query"]
        city = self.facts.cities.get(query, self.facts.airports.get(query))
        if city is not None:
            place = self.places[city]
            names = (("city", place.city), ("district", f"{place.city} Old Town"))
            return [
                {"dest_id": self.dest_ids.text(2 * city + i), "search_type": kind, "name": name}
                | self.facts.link_point(place.centre)
                for i, (kind, name) in enumerate(names)
            ]
        hotel = self.by_name.get(query)
        if hotel is None:
            return None
        return [{"dest_id": hotel.id, "search_type": "hotel", "name": hotel.name} | self.facts.link_point(hotel.point)]

    def search(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Hotels`: the hotels of a destination that are free, priced for the stay."""
        hotels, stay = self._at(arguments), self._stay(arguments, "arrival_date", "departure_date")
        if hotels is None or stay is None:
            return None
        filters: str = arguments.get("categories_filter", "")
        wanted = {part.strip() for part in filters.split(",") if part.strip()}
        hotels = [h for h in hotels if wanted <= set(h.facilities)]
        priced = self._priced(hotels, stay, arguments)
        priced.sort(key=self._order(arguments.get("sort_by", "popularity")))
        return {
            "hotels": [
                {"hotel_id": h.id, "name": h.name, "price": p, "reviewScore": h.score} | self._property(h)
                for h, p in priced
            ],
        }

    def search_around(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Search_Hotels_By_Coordinates`: the nearest free hotels first, at most six."""
        stay = self._stay(arguments, "arrival_date", "departure_date")
        if stay is None:
            return None
        point, radius = (arguments["latitude"], arguments["longitude"]), arguments.get("radius", 100)
        cities = {city for _, city in self.facts.near(point, radius + 10)}
        far = {h.index: kilometres(point, h.point) for h in self.hotels if h.city in cities}
        around = sorted((h for h in self.hotels if far.get(h.index, radius + 1) <= radius), key=lambda h: far[h.index])
        priced = self._priced(around, stay, arguments)[:6]
        return {
            "result": [
                {"hotel_id": h.id, "hotel_name": h.name, "price": p} | self.facts.link_point(h.point) for h, p in priced
            ]
        }

    def filters(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Filter`: the facilities of the hotels at a destination, each with its count."""
        hotels = self._at(arguments)
        if hotels is None or self._stay(arguments, "arrival_date", "departure_date") is None:
            return None
        titles = {f"class::{n}": f"{n} stars" for n in range(5, 1, -1)} | _FACILITIES
        counts = {i: sum(i in h.facilities for h in hotels) for i in titles}
        options = [{"genericId": i, "title": t, "count": counts[i]} for i, t in titles.items() if counts[i]]
        groups = (("Stars", "class::"), ("Facilities", "facility::"))
        return {
            "filters": [
                {"title": title, "options": [o for o in options if str(o["genericId"]).startswith(head)]}
                for title, head in groups
            ]
        }

    def rooms(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Room_List_With_Availability`: the rooms of a stay, cheapest first; none when sold out."""
        hotel, stay = self._hotel_of(arguments), self._stay(arguments, "arrival_date", "departure_date")
        if hotel is None or stay is None:
            return None
        price = self.price(hotel, *stay, arguments)
        offered = _ROOMS if hotel.stars > 3 else _ROOMS[:3]
        rooms = [(f"{hotel.id}-{n}", name, percent) for n, (name, percent) in enumerate(offered, 1)]
        if price is None:
            return {"rooms": []}
        return {"rooms": [{"room_id": i, "name": n, "price": price * percent // 100} for i, n, percent in rooms]}

    def calendar(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Room_Availability`: the free nights from `min_date` to the night before `max_date`."""
        hotel, stay = self._hotel_of(arguments), self._stay(arguments, "min_date", "max_date")
        if hotel is None or stay is None:
            return None
        prices = ((day, self.price(hotel, day, day + 1, arguments)) for day in range(*stay))
        return {"avDates": [{"date": day_text(day), "price": price} for day, price in prices if price is not None]}

    def reviews(self, arguments: dict[str, JsonValue]) -> JsonValue:
        """Answer `Get_Hotel_Reviews_Tips`: three reviews in the order asked for."""
        hotel, sort = self._hotel_of(arguments), arguments.get("sort_option_id", _SORTS[0][0])
        if hotel is None or sort not in dict(_SORTS):
            return None
        numbers = [draw(self.seed, "review", hotel.index, sort, n) for n in range(3)]
        if sort == "sort_recent_desc":
            numbers.sort(key=lambda n: n % 59, reverse=True)
        elif sort == "sort_score_desc":
            numbers.sort(key=lambda n: n % 5, reverse=True)
        return {
            "reviews": [{"title": _PRAISE[n % 6], "score": 6 + n % 5, "date": day_text(n % 59)} for n in numbers]
        }

    def _property(self, hotel: Hotel) -> dict[str, JsonValue]:
        point = self.facts.link_point(hotel.point)
        return {"property": point} if point else {}

    def _on_hotel(self, answer: Callable[[Hotel], JsonValue]) -> Answer:
        def of_arguments(arguments: dict[str, JsonValue]) -> JsonValue:
            hotel = self._hotel_of(arguments)
            return None if hotel is None else answer(hotel)

        return of_arguments

    def _hotel_of(self, arguments: dict[str, JsonValue]) -> Hotel | None:
        index = self.ids.index(arguments["hotel_id"])
        return None if index is None else self.hotels[index]

    def _at(self, arguments: dict[str, JsonValue]) -> list[Hotel] | None:
        dest_id, kind = arguments["dest_id"], arguments["search_type"]
        if kind == "hotel":
            index = self.ids.index(dest_id)
            return None if index is None else [self.hotels[index]]
        index = self.dest_ids.index(dest_id)
        if index is None or kind != ("city", "district")[index % 2]:
            return None
        here = [h for h in self.hotels if h.city == index // 2]
        return here[: ceil(len(here) / 2)] if index % 2 else here

    def _stay(self, arguments: dict[str, JsonValue], first: str, last: str) -> tuple[int, int] | None:
        arrival, departure = day_number(arguments[first]), day_number(arguments[last])
        return None if arrival is None or departure is None else (arrival, min(departure, arrival + 30))

    def _priced(
        self, hotels: list[Hotel], stay: tuple[int, int], arguments: dict[str, JsonValue]
    ) -> list[tuple[Hotel, int]]:
        low, high = arguments.get("price_min", 0), arguments.get("price_max", float("inf"))
        prices = ((h, self.price(h, *stay, arguments)) for h in hotels)
        return [(h, p) for h, p in prices if p is not None and low <= p <= high]

    def _order(self, sort_by: str) -> Callable[[tuple[Hotel, int]], float]:
        match sort_by:
            case "price":
                return lambda row: row[1]
            case "bayesian_review_score":
                return lambda row: -row[0].score
            case "class_descending":
                return lambda row: -row[0].stars
            case "distance":
                return lambda row: kilometres(row[0].point, self.places[row[0].city].centre)
            case _:
                return lambda row: draw(self.seed, "popular", row[0].index)

    def _details(self, hotel: Hotel) -> JsonValue:
        place = self.places[hotel.city]
        return {
            "hotel_id": hotel.id,
            "hotel_name": hotel.name,
            "city": place.city,
            "class": hotel.stars,
            "address": f"{between(1, 90, self.seed, 'street', hotel.index)} {pick(_FIRST, self.seed, hotel.id)} Street",
            "checkin_from": pick(("14:00", "15:00", "16:00"), self.seed, "in", hotel.index),
            "checkout_until": pick(("10:00", "11:00", "12:00"), self.seed, "out", hotel.index),
            "latitude": hotel.point[0],
            "longitude": hotel.point[1],
        }

    def _description(self, hotel: Hotel) -> JsonValue:
        what = ", ".join(_FACILITIES[f].lower() for f in hotel.facilities[1:]) or "a lounge"
        city = self.places[hotel.city].city
        return [{"description": f"{hotel.name} is a {hotel.stars}-star house in {city} with {what}."}]

    def _policies(self, hotel: Hotel) -> JsonValue:
        deadlines = ("until 1 day before", "until 3 days before", "until 7 days before", "never")
        free = pick(deadlines, self.seed, "cancel", hotel.index)
        pets = pick(("allowed", "not allowed"), self.seed, "pets", hotel.index)
        smoking = pick(("not allowed", "on the terrace"), self.seed, "smoke", hotel.index)
        rules = (("free_cancellation", free), ("pets", pets), ("smoking", smoking))
        return {"policy": [{"type": kind, "content": text} for kind, text in rules]}

    def _scores(self, hotel: Hotel) -> JsonValue:
        def part(name: str) -> float:
            return min(10.0, round(hotel.score + between(-8, 8, self.seed, name, hotel.index) / 10, 1))

        names = ("Cleanliness", "Location", "Staff")
        parts = [{"question": name, "score": part(name)} for name in names]
        count = between(40, 990, self.seed, "count", hotel.index)
        return {"score": hotel.score, "count": count, "score_breakdown": parts}

    def _landmarks(self, hotel: Hotel) -> JsonValue:
        city = self.places[hotel.city].city
        first = draw(self.seed, "landmark", hotel.index) % len(LANDMARKS)
        tags = [f"{city} {LANDMARKS[(first + n) % len(LANDMARKS)]}" for n in range(2)]
        rows = [{"tag": tag, "distance": between(2, 30, self.seed, tag, hotel.index) / 10} for tag in tags]
        return {"closest_landmarks": sorted(rows, key=lambda r: float(r["distance"]))}

    def _questions(self, hotel: Hotel) -> JsonValue:
        wifi = "Yes" if "facility::107" in hotel.facilities else "No"
        parking = "Yes" if "facility::2" in hotel.facilities else "No"
        pairs = (("Is there free WiFi?", wifi), ("Is there parking?", parking))
        return {"q_and_a_pairs": [{"question": question, "answer": answer} for question, answer in pairs]}

    def _payment(self, hotel: Hotel) -> JsonValue:
        cards = [c for c in _CARDS if c in _CARDS[:2] or draw(self.seed, c, hotel.index) % 3 == 0]
        return [{"name": card} for card in cards]

    def _children(self, hotel: Hotel) -> JsonValue:
        youngest = pick((0, 0, 2, 6), self.seed, "youngest", hotel.index)
        return {"min_age": youngest, "crib": pick(("free", "on request", "none"), self.seed, "crib", hotel.index)}


def landmark_cities(facts: Facts) -> dict[str, int]:
    """Return the folded name of every landmark → its city."""
    return {fold_text(f"{p.city} {name}"): city for city, p in enumerate(facts.places) for name in LANDMARKS}
