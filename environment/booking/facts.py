"""What every family of the simulated world shares: its size, its cities, its calendar, its points on the map."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from environment.booking.draw import draw
from environment.booking.places import Place, all_places, kilometres
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text
from environment.core.errors import ConfigError

FIRST_DAY = date(2026, 1, 1)
"""First day the world knows."""
DAYS = 730
"""Number of days it knows; other dates are a miss."""

Answer = Callable[[dict[str, JsonValue]], JsonValue]
"""Canonical, valid arguments → the value of `data`; None for a miss."""


@dataclass(frozen=True)
class WorldSize:
    """How much there is in a simulated world, and how much of it is recorded by `build_seed_cache`."""

    cities: int = 40
    """At most the 83 of the table."""
    hotels: int = 6
    """A city."""
    attractions: int = 5
    """A city."""
    cars: int = 4
    """A city."""
    destinations: int = 5
    """Flight destinations recorded for a city; the simulator itself flies everywhere."""
    dates: int = 12
    """Dates of the calendar recorded."""

    def __post_init__(self) -> None:
        most = {"cities": len(all_places()), "hotels": 6, "attractions": 9, "cars": 9, "destinations": 40, "dates": 120}
        for name, limit in most.items():
            if not 1 <= getattr(self, name) <= limit:
                got = getattr(self, name)
                raise ConfigError("out of range", where=f"WorldSize.{name}", got=got, expected=f"1 to {limit}")


class Facts:
    """The cities and the calendar of one world."""

    def __init__(self, seed: int, size: WorldSize, linked: bool = False) -> None:
        self.seed, self.size, self.linked = seed, size, linked
        shuffled = sorted(all_places(), key=lambda p: draw(seed, "city", p.city))
        self.places: tuple[Place, ...] = tuple(shuffled[: size.cities])

    @cached_property
    def cities(self) -> dict[str, int]:
        """Folded name, also with the country, → city."""
        return {fold_text(name): i for i, p in enumerate(self.places) for name in (p.city, f"{p.city}, {p.country}")}

    @cached_property
    def airports(self) -> dict[str, int]:
        """Folded airport name or code → city."""
        named = ((i, p.airport, f"{p.city} Airport", p.iata) for i, p in enumerate(self.places))
        return {fold_text(name): i for i, *names in named for name in names}

    def near(self, point: tuple[float, float], within: float) -> list[tuple[float, int]]:
        """Return (kilometres, city) of the cities whose centre lies within reach, nearest first."""
        measured = ((kilometres(point, p.centre), i) for i, p in enumerate(self.places))
        return sorted((far, i) for far, i in measured if far <= within)


    def link(self, **more: JsonValue) -> dict[str, JsonValue]:
        """Return fields that lead from one family to another, nothing where the world is not linked."""
        return more if self.linked else {}

    def link_point(self, point: tuple[float, float]) -> dict[str, JsonValue]:
        """Return a point as such fields."""
        return self.link(latitude=point[0], longitude=point[1])


def day_number(text: JsonValue) -> int | None:
    """Return the day of the world's calendar, from 0; None for a date beyond it."""
    number = (date.fromisoformat(text) - FIRST_DAY).days
    return number if 0 <= number < DAYS else None


def day_text(number: int) -> str:
    """Return a day of the calendar as YYYY-MM-DD."""
    return (FIRST_DAY + timedelta(days=number)).isoformat()


def is_weekend(number: int) -> bool:
    """Tell whether a day is a Friday or a Saturday, the nights that cost more."""
    return (FIRST_DAY.weekday() + number) % 7 in (4, 5)
