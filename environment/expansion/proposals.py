"""Arguments that a person would state: places, dates, parties. The same seed proposes the same, in any order.

Ids are never made up: they come from earlier answers. The first proposal gives required parameters alone, later ones
some of the optional ones too.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Protocol

from environment.booking.draw import between, draw, pick
from environment.booking.places import Place
from environment.core.calls import JsonValue
from environment.core.schema import ToolSchema
from environment.expansion.chains import ITEMS

_AGES = ("4", "7", "2,9", "0,1", "12")
_DAYS = 240
"""Length of the calendar in which trips begin."""


class Proposer(Protocol):
    """Whoever thinks of argument values."""

    def fill(
        self, schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int, about: str, turn: int = 0
    ) -> list[dict[str, JsonValue]]:
        """Return up to `count` sets of values for the parameters that no earlier answer gives.

        Args:
            linked: argument paths that earlier answers give; they are left out.
            named: optional parameters that every set has.
            about: the place in the expansion, so that two places differ.
            turn: how many look-ups of this tool the chain has before. Set n is about the same city whatever the turn,
                named otherwise; flights go to another one.
        """
        ...


@dataclass(frozen=True)
class DrawnProposer:
    """Draws from a table of places and a calendar."""

    places: Sequence[Place]
    first_day: date
    seed: int = 0

    def fill(
        self, schema: ToolSchema, linked: Sequence[str], named: Sequence[str], count: int, about: str, turn: int = 0
    ) -> list[dict[str, JsonValue]]:
        """Draw the sets one by one; see `Proposer.fill`."""
        return [_Set(self, schema, (about, schema.name, n), n, turn).values(linked, named) for n in range(count)]


class _Set:
    """One set of values: one place, one trip."""

    def __init__(
        self, source: DrawnProposer, schema: ToolSchema, words: tuple[object, ...], number: int, turn: int
    ) -> None:
        self._schema, self._number, self._turn = schema, number, turn
        self._words = (source.seed, *words)
        self._place = pick(source.places, *self._words, "place", turn if schema.group == "flight" else 0)
        self._start = source.first_day + timedelta(days=draw(*self._words, "start") % _DAYS)

    def values(self, linked: Sequence[str], named: Sequence[str]) -> dict[str, JsonValue]:
        out: dict[str, JsonValue] = {}
        for name, parameter in self._schema.properties.items():
            if name in linked or not self._wants(name, parameter, named):
                continue
            value = self._items(name, parameter) if parameter.get("type") == "array" else self._one(name, parameter)
            if value is not None:
                out[name] = value
        if "price_min" in out and "price_max" in out and out["price_min"] > out["price_max"]:
            del out["price_min"]
        return out

    def _wants(self, name: str, parameter: Mapping[str, Any], named: Sequence[str]) -> bool:
        if name in self._schema.required or name in named:
            return True
        return self._number > 0 and draw(*self._words, "optional", name) % 4 == 0 and parameter.get("type") != "array"

    def _items(self, name: str, parameter: Mapping[str, Any]) -> JsonValue:
        fields: Mapping[str, Any] = parameter.get("items", {}).get("properties", {})
        items = [{field: self._one(f"{name}[].{field}", p, i) for field, p in fields.items()} for i in range(ITEMS)]
        return [{field: value for field, value in item.items() if value is not None} for item in items]

    def _one(self, path: str, parameter: Mapping[str, Any], item: int = 0) -> JsonValue:
        """Return a value, None where only an earlier answer could give it."""
        port = self._schema.takes.get(path)
        kind = parameter.get("x-format") or parameter.get("format")
        if "enum" in parameter:
            return pick(parameter["enum"], *self._words, path)
        if kind == "date":
            return self._date(path, parameter, item)
        if kind == "time":
            return f"{between(8, 20, *self._words, path):02d}:00"
        if kind == "ages":
            return pick(_AGES, *self._words, path)
        if parameter.get("type") in ("integer", "number") and port is None:
            return self._number_of(path, parameter)
        return self._of_place(port)

    def _date(self, path: str, parameter: Mapping[str, Any], item: int) -> JsonValue:
        later = "x-after" in parameter or "x-not-before" in parameter
        days = between(1, 6, *self._words, "nights") if later else 4 * item
        return (self._start + timedelta(days=days)).isoformat()

    def _number_of(self, path: str, parameter: Mapping[str, Any]) -> JsonValue:
        low = int(parameter.get("minimum", 0))
        if parameter["type"] == "integer":
            return between(low, low + 2, *self._words, path)
        high = int(parameter.get("maximum", low + 500))
        return low + (high - low) * between(1, 4, *self._words, path) // 4

    def _of_place(self, port: str | None) -> JsonValue:
        place, variant = self._place, draw(*self._words, "spelling") % 3 + self._turn
        names = (place.city, f"{place.city}, {place.country}", place.airport)
        flying = self._schema.group in ("flight", "car", "taxi")
        values = {
            "place_name": names[variant % 3] if flying else names[variant % 2],
            "latitude": place.latitude,
            "longitude": place.longitude,
        }
        return values.get(port or "")
