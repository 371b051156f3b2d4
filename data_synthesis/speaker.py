"""Values in a person's words: a stay, a trip, a party, a budget, an order.

One query keeps one way of writing dates. The same values and the same `Random` give the same text.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from data_synthesis.templates.build import base
from data_synthesis.templates.model import Kind, Pick
from data_synthesis.words import clock, day_in_words, number, pick_in_words
from environment.core.calls import JsonValue

CHOICE_WORDS: dict[str, dict[str, str]] = {
    "cabin": {"ECONOMY": "economy", "PREMIUM_ECONOMY": "premium economy", "BUSINESS": "business", "FIRST": "first"},
    "flight_sort": {"CHEAPEST": "cheapest", "FASTEST": "fastest", "BEST": "best"},
    "hotel_sort": {
        "popularity": "popularity", "price": "price", "distance": "distance from the centre",
        "class_descending": "number of stars", "bayesian_review_score": "review score",
    },
    "attraction_sort": {
        "trending": "what is trending", "attr_book_score": "booking score", "lowest_price": "lowest price",
    },
}  # fmt: skip
"""Variable → value of the service → how a person says it."""
_DATE_STYLES = ("day", "ordinal", "month")


@dataclass(frozen=True)
class WriterConfig:
    """What may be tuned about the wording."""

    iso_share: float = 0.5
    """Share of the queries that write dates as YYYY-MM-DD; the rest uses words."""
    words_share: float = 0.5
    """Share of the numbers said in words, and of the times said with am and pm."""
    nights_share: float = 0.15
    """Share of the stays given as so many nights; the end date must then be worked out."""
    indirection: float = 0.3
    """Share of the dates said before that are only referred to, in requests put together from several parts."""


class Said(str):
    """A value in words already: `the first open day` for a date that a look-up gives."""

    __slots__ = ()


def date_style(rng: random.Random, config: WriterConfig) -> str:
    """Return the way one query writes its dates."""
    return "iso" if rng.random() < config.iso_share else rng.choice(_DATE_STYLES)


class Speaker:
    """Says values: variable → value, of the kinds given."""

    def __init__(
        self,
        values: Mapping[str, JsonValue],
        kinds: Mapping[str, Kind],
        picks: Mapping[str, Pick],
        rng: random.Random,
        config: WriterConfig,
        style: str,
    ) -> None:
        self._values = values
        self._kinds = kinds
        self._picks = picks
        self._rng = rng
        self._config = config
        self._style = style
        self._composite: Mapping[str, Callable[[], str]] = {
            "stay": self._stay,
            "trip": self._trip,
            "party": self._party,
            "travellers": self._travellers,
            "cabin_class": self._cabin,
            "rental": self._rental,
            "budget": self._budget,
            "radius": lambda: f"within {self._day('radius')} kilometres" if "radius" in self._values else "",
            "on_visit_day": lambda: f"on {self._day('visit_day')}" if "visit_day" in self._values else "",
            "hotel_order": lambda: self._order("hotel_sort"),
            "attraction_order": lambda: self._order("attraction_sort"),
            "flight_order": self._flight_order,
        }

    def say(self, slot: str, noun: str) -> str:
        """Return the words for a slot; nothing for a variable that is unset."""
        if slot in self._composite:
            return self._composite[slot]()
        if slot in self._picks:
            return pick_in_words(self._picks[slot], noun, self._rng)
        value = self._values.get(slot)
        return "" if value is None else self._value(slot, value)

    def _value(self, name: str, value: JsonValue) -> str:
        if isinstance(value, Said):
            return value
        match self._kinds[name]:
            case Kind.DATE:
                return day_in_words(str(value), self._style)
            case Kind.TIME:
                return clock(str(value), self._rng, self._config.words_share)
            case Kind.COUNT:
                return self._number(int(value))
            case Kind.CHOICE:
                return CHOICE_WORDS.get(base(name), {}).get(str(value), str(value))
            case _:
                return str(value)

    def _number(self, value: int) -> str:
        return number(value, self._rng, self._config.words_share)

    def _day(self, name: str) -> str:
        return self._value(name, self._values[name])

    def _stay(self) -> str:
        """Say check-in and check-out."""
        if any(isinstance(self._values[name], Said) for name in ("check_in", "check_out")):
            return f"from {self._day('check_in')} to {self._day('check_out')}"
        start, end = (date.fromisoformat(str(self._values[name])) for name in ("check_in", "check_out"))
        nights = (end - start).days
        if self._rng.random() < self._config.nights_share:
            return f"for {self._number(nights)} night{'s' if nights > 1 else ''} from {self._day('check_in')}"
        if self._style == "day" and (start.year, start.month) == (end.year, end.month) and self._rng.random() < 0.5:
            return f"from {start.day} to {self._day('check_out')}"
        form = self._rng.choice(
            (
                "from {} to {}",
                "from {} until {}",
                "checking in {on}{} and out {on}{}",
                "arriving {on}{}, leaving {on}{}",
            )
        )
        return form.format(self._day("check_in"), self._day("check_out"), on="on ")

    def _trip(self) -> str:
        """Say the departure, and the return where there is one."""
        if "return" not in self._values:
            return f"on {self._day('depart')}"
        form = self._rng.choice(("leaving on {} and returning on {}", "on {}, back on {}", "out on {} and back on {}"))
        return form.format(self._day("depart"), self._day("return"))

    def _rental(self) -> str:
        """Say when a car is taken and given back."""
        start = f"{self._day('pick_up_date')} at {self._day('pick_up_time')}"
        end = f"{self._day('drop_off_date')} at {self._day('drop_off_time')}"
        return self._rng.choice(("from {} to {}", "from {} until {}", "picked up on {} and returned on {}")).format(
            start, end
        )

    def _people(self, singular: str, plural: str) -> str:
        adults = int(self._values.get("adults", 1))
        if adults == 1:
            return self._rng.choice(("just for me", f"for one {singular}", f"for 1 {singular}", ""))
        return f"for {self._number(adults)} {plural}"

    def _party(self) -> str:
        """Say adults, children and rooms; one adult and one room may go unsaid."""
        people = self._people("adult", self._rng.choice(("adults", "people", "guests")))
        rooms = int(self._values.get("rooms", 1))
        room = f"in {self._number(rooms)} rooms" if rooms > 1 else self._rng.choice(("", "", "in one room"))
        ages = self._ages()
        return f"{people} {ages} {room}" if people or ages else room.replace("in ", "with ", 1)

    def _travellers(self) -> str:
        return f"{self._people('adult', self._rng.choice(('adults', 'people', 'passengers')))} {self._ages()}"

    def _ages(self) -> str:
        ages = self._values.get("children")
        if not ages:
            return ""
        said = str(ages).split(",")
        listed = " and ".join([", ".join(said[:-1]), said[-1]]) if len(said) > 1 else said[0]
        return f"with {'children' if len(said) > 1 else 'a child'} aged {listed}"

    def _cabin(self) -> str:
        return f"in {self._day('cabin')} class" if "cabin" in self._values else ""

    def _order(self, name: str) -> str:
        return f"sorted by {self._day(name)}" if name in self._values else ""

    def _flight_order(self) -> str:
        return f"with the {self._day('flight_sort')} on top" if "flight_sort" in self._values else ""

    def _budget(self) -> str:
        low, high = self._values.get("price_min"), self._values.get("price_max")
        if low is not None and high is not None:
            return f"priced between {low} and {high}"
        form = (
            "priced at {} or more" if high is None else self._rng.choice(("for at most {}", "costing no more than {}"))
        )
        return "" if low is None and high is None else form.format(low if high is None else high)
