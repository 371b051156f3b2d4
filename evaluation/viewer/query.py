"""What is asked for: filters, a text, an order and a page, read from an address and written into one.

Bad values never fail a page: they are left out and named.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from evaluation.viewer.facts import Row
from evaluation.viewer.index import Index, Place, outcome_of
from evaluation.viewer.search import matching

PAGE = 50
"""Trajectories on one page."""
OUTCOMES = ("success", "failure", "infrastructure", "unknown")
ORDERS = ("", "low", "high", "calls", "turns", "long")
"""As recorded; lowest and highest reward (or part) first; most calls, most turns, longest line first."""
UNREADABLE = "(unreadable)"
"""Stands for calls without a name among the tools."""
LONGEST = 1000
"""Characters of one value of an address that are read."""


@dataclass(frozen=True)
class Query:
    """One view of the list. Empty texts and None filter nothing."""

    q: str = ""
    """Text that the stored line must contain, upper and lower case alike."""
    outcome: str = ""
    stop: str = ""
    tool: str = ""
    file: int | None = None
    task: str = ""
    part: str = ""
    """Part of the reward that `low` and `high` are about; the score where none is named."""
    low: float | None = None
    high: float | None = None
    order: str = ""
    page: int = 1

    def address(self, **changes: Any) -> str:
        """Return the query as the part of an address behind `?`, with changes; the same query gives the same text."""
        asked = replace(self, **changes) if changes else self
        values = {f.name: getattr(asked, f.name) for f in fields(asked)}
        return urlencode({k: _text(v) for k, v in values.items() if v not in ("", None) and (k, v) != ("page", 1)})


def read_query(text: str) -> tuple[Query, list[str]]:
    """Return the query of an address and what could not be understood of it, in words."""
    problems: list[str] = []
    given: dict[str, str] = {}
    try:
        given = {k: v[:LONGEST] for k, v in parse_qsl(text, max_num_fields=64)}
    except ValueError:
        problems.append("the address has too many parts; all filters are left out")

    def read(name: str, to: Callable[[str], Any], expected: str, otherwise: Any) -> Any:
        value = given.get(name, "").strip()
        try:
            return to(value) if value else otherwise
        except ValueError:
            problems.append(f"{name}: {value!r} is not {expected}")
            return otherwise

    query = Query(
        q=given.get("q", "").strip(), stop=given.get("stop", ""), tool=given.get("tool", ""),
        task=given.get("task", ""), part=given.get("part", ""),
        outcome=read("outcome", _one_of(OUTCOMES), f"one of {', '.join(OUTCOMES)}", ""),
        order=read("order", _one_of(ORDERS), f"one of {', '.join(ORDERS[1:])}", ""),
        file=read("file", _whole, "the number of a file", None),
        low=read("low", _finite, "a number", None), high=read("high", _finite, "a number", None),
        page=read("page", _whole, "the number of a page", 1),
    )  # fmt: skip
    return query, problems


class Finder:
    """Answers queries over an index; remembers the last answer, which paging and stepping ask for again."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._last: tuple[object, list[Place]] = (None, [])

    def find(self, query: Query) -> list[Place]:
        """Return the matching rows in order, all pages."""
        key = (replace(query, page=1), self._index.version, len(self._index))
        known, places = self._last
        if known != key:
            places = self._find(query)
            self._last = (key, places)
        return places

    def _find(self, query: Query) -> list[Place]:
        found = [place for place in self._index.places() if _fits(query, place)]
        if query.q:
            found = matching(found, query.q)
        return found if not query.order else sorted(found, key=_order(query))


def value_of(query: Query, place: Place) -> float | None:
    """Return the number that a query's bounds are about."""
    if not query.part:
        return place.row.reward
    return place.file.reader.parts.value(place.row, query.part)


def _fits(query: Query, place: Place) -> bool:
    row = place.row
    if query.file is not None and place.file.number != query.file:
        return False
    if (query.stop and row.stop != query.stop) or (query.tool and _tool(query) not in row.tools):
        return False
    if (query.task and row.task != query.task) or (query.outcome and outcome_of(row) != query.outcome):
        return False
    return (query.low is None and query.high is None) or _between(value_of(query, place), query.low, query.high)


def _tool(query: Query) -> str:
    return "" if query.tool == UNREADABLE else query.tool


def _between(value: float | None, low: float | None, high: float | None) -> bool:
    return value is not None and (low is None or value >= low) and (high is None or value <= high)


def _order(query: Query) -> Callable[[Place], tuple[float, ...]]:
    """Return the key to sort by; sorting keeps the recorded order of equals, and rows without a number come last."""
    sizes: dict[str, Callable[[Row], int]] = {
        "calls": lambda row: row.calls, "turns": lambda row: row.turns, "long": lambda row: row.length,
    }  # fmt: skip
    size = sizes.get(query.order)
    if size is not None:
        return lambda place: (-size(place.row),)
    sign = 1 if query.order == "low" else -1

    def by_value(place: Place) -> tuple[float, ...]:
        value = value_of(query, place)
        return (1.0, 0.0) if value is None else (0.0, sign * value)

    return by_value


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in known:
            raise ValueError(text)
        return text

    return read


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) > 0):
        raise ValueError(text)
    return int(text)


def _finite(text: str) -> float:
    number = float(text.replace(",", "."))
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
