"""Paths into JSON values: `data.hotels[0].hotel_id`, `[2].name`, `legs[1].fromId`.

`hotels[].hotel_id` (an empty index) is the generic form: any item of the list. Names never hold dots or brackets
in the responses this project meets; a name that does is reachable by no path and simply not joined.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from environment.core.calls import JsonValue

_PART = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_INDEX = re.compile(r"\[\d+\]")


class _Missing:
    """The type of `MISSING`."""


MISSING = _Missing()
"""What `get` returns where a path leads nowhere; None is a value."""


@lru_cache(maxsize=4096)
def split(path: str) -> tuple[str | int, ...]:
    """Return the keys and indices of a path, in order."""
    return tuple(int(index) if index else name for index, name in _PART.findall(path))


def get(value: JsonValue, path: str) -> JsonValue | _Missing:
    """Return the value at `path`, or MISSING; never raises."""
    for part in split(path):
        value = _child(value, part)
    return value


def generic(path: str) -> str:
    """Return the path with every index emptied, as `ToolSchema.gives` and `takes` write it."""
    return _INDEX.sub("[]", path)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, JsonValue]]:
    """Yield (path, scalar) for every scalar inside `value`, in document order."""
    if isinstance(value, dict):
        pairs: Any = value
        for key, item in pairs.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        items: Any = value
        for number, item in enumerate(items):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, value


def _child(value: Any, part: str | int) -> JsonValue | _Missing:
    if isinstance(part, int):
        return value[part] if isinstance(value, list) and part < len(value) else MISSING
    return value.get(part, MISSING) if isinstance(value, dict) else MISSING
