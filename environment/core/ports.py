"""Ports at work: values along a path of an answer, and the data dependencies between tools that follow from them.

A path names keys and list items: `data.hotels[].hotel_id` any item, `data.hotels[2].hotel_id` the third,
`data[search_type=hotel].dest_id` those whose `search_type` is `hotel`. Services wrap their answers as
`{"data": ...}` or do not, sometimes one tool both ways; a leading `data` therefore fits either.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, cast

from environment.core.calls import JsonValue
from environment.core.schema import ToolSchema

WRAPPER = "data"
"""The key under which a service may wrap what it has to say."""
_PART = re.compile(r"[^.\[\]]+|\[[^\]]*\]")
_FILTER = re.compile(r"\[(\w+)=([^\]]*)\]")
_ITEMS = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class PortEdge:
    """One way in which an argument can come from an earlier answer."""

    producer: str
    field: str
    """Path into the producer's answer."""
    consumer: str
    argument: str
    """Path into the consumer's arguments."""
    port: str
    """The kind of value."""


def port_edges(schemas: Mapping[str, ToolSchema]) -> Iterator[PortEdge]:
    """Yield every data dependency that the ports allow, consumer by consumer in the order of the schemas."""
    for consumer in schemas.values():
        for argument, port in consumer.takes.items():
            for producer in schemas.values():
                fields = (field for field, given in producer.gives.items() if given == port)
                yield from (PortEdge(producer.name, field, consumer.name, argument, port) for field in fields)


def generic_path(path: str) -> str:
    """Return a path with every index and condition emptied and without the wrapper: the form to compare paths in."""
    path = _ITEMS.sub("[]", path)
    return path[len(WRAPPER) :].removeprefix(".") if _wrapped_path(path) else path


def values_at(value: JsonValue, path: str) -> list[JsonValue]:
    """Return every value at a path, in document order; none where it leads nowhere. Never raises."""
    parts = _PART.findall(path)
    if _wrapped_path(path):
        parts = parts[1:]
    found: list[JsonValue] = [unwrapped(value)]
    for part in parts:
        found = [below for above in found for below in _step(above, part)]
    return found


def put(arguments: dict[str, JsonValue], path: str, value: JsonValue) -> None:
    """Set the value at a path of names and indices, making the objects and list items on the way."""
    parts = _PART.findall(path)
    here: Any = arguments
    for part, after in pairwise(parts):
        here = _child(here, part, list if after.startswith("[") else dict)
    _set(here, parts[-1], value)


def unwrapped(value: JsonValue) -> JsonValue:
    """Return what lies under the wrapper, or the value itself where it has none."""
    if not isinstance(value, dict):
        return value
    known = cast("dict[str, JsonValue]", value)
    return known.get(WRAPPER, known)


def _wrapped_path(path: str) -> bool:
    return path == WRAPPER or path.startswith((f"{WRAPPER}.", f"{WRAPPER}["))


def _step(value: Any, part: str) -> Iterable[JsonValue]:
    if not part.startswith("["):
        return [value[part]] if isinstance(value, dict) and part in value else []
    if not isinstance(value, list):
        return []
    items = cast("list[Any]", value)
    if part == "[]":
        return items
    if (wanted := _FILTER.fullmatch(part)) is not None:
        return [item for item in items if isinstance(item, dict) and str(_get(item, wanted[1])) == wanted[2]]
    number = part[1:-1]
    return items[int(number) :][:1] if number.isascii() and number.isdigit() else []


def _get(item: Any, key: str) -> JsonValue:
    return item.get(key)


def _child(here: Any, part: str, kind: type[Any]) -> Any:
    if part.startswith("["):
        items, number = cast("list[Any]", here), int(part[1:-1])
        while len(items) <= number:
            items.append(kind())
        return items[number]
    return here.setdefault(part, kind())


def _set(here: Any, part: str, value: JsonValue) -> None:
    here[int(part[1:-1]) if part.startswith("[") else part] = value
