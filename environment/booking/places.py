"""The cities of the simulated world: real names, airports and coordinates (degrees)."""
from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import asin, cos, radians, sin, sqrt
from pathlib import Path

import orjson

_FILE = Path(__file__).with_name("places.json")


@dataclass(frozen=True)
class Place:
    """A city with its main airport; two decimals of a degree are about a kilometre."""

    city: str
    country: str
    iata: str
    airport: str
    latitude: float
    longitude: float
    airport_latitude: float
    airport_longitude: float

    @property
    def centre(self) -> tuple[float, float]:
        """Latitude and longitude of the city centre."""
        return self.latitude, self.longitude

    @property
    def airport_point(self) -> tuple[float, float]:
        """Latitude and longitude of the airport."""
        return self.airport_latitude, self.airport_longitude


@lru_cache(maxsize=1)
def all_places() -> tuple[Place, ...]:
    """Return every city of the table, in alphabetical order."""
    return tuple(Place(*row) for row in orjson.loads(_FILE.read_bytes()))


def kilometres(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return the great-circle distance of two points given as (latitude, longitude) in degrees."""
    (lat_a, lon_a), (lat_b, lon_b) = (map(radians, a), map(radians, b))
    half = sin((lat_b - lat_a) / 2) ** 2 + cos(lat_a) * cos(lat_b) * sin((lon_b - lon_a) / 2) ** 2
    return 2 * 6371.0 * asin(sqrt(min(1.0, half)))
