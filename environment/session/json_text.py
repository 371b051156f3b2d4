"""JSON values: compact text, narrowing, and the paths of their scalars."""
from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, TypeGuard

import orjson

from environment.core.calls import JsonValue

MAX_DEPTH = 48
"""Containers nested deeper than this are not shown, so that no reader of the text can run out of stack."""

_MARKUP = re.compile(r"<(?=\||/?tool_|/?think>)")

Path = tuple[str | int, ...]
"""Keys and list indices from the root to a value."""


def is_object(value: JsonValue) -> TypeGuard[dict[str, Any]]:
    """Return whether the value is a JSON object."""
    return isinstance(value, dict)


def is_list(value: JsonValue) -> TypeGuard[list[Any]]:
    """Return whether the value is a JSON list."""
    return isinstance(value, list)


def compact(value: JsonValue) -> str:
    """Return the value as JSON without spaces; valid UTF-8 and valid JSON whatever Python value it is.

    NaN and infinities become null, numbers beyond 64 bits floats, unpaired surrogates `?`, other types their text.
    Marks of a chat template inside strings are escaped, so that no data can pose as a turn or a call.
    """
    try:
        text = orjson.dumps(value).decode()
    except (TypeError, RecursionError):
        text = orjson.dumps(plain(value)).decode()
    return _MARKUP.sub(r"\\u003c", text) if "<" in text else text


def clean_text(text: str) -> str:
    """Return the text with unpaired surrogates replaced, so that it can be stored as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plain(value: Any, depth: int = 0) -> JsonValue:
    """Return the nearest value that every JSON writer takes; containers below `MAX_DEPTH` become null."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -(2**63) <= value < 2**64 else _float_of(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict | list | tuple):
        return None if depth >= MAX_DEPTH else _plain_container(value, depth)
    return clean_text(str(value))


def scalars(value: JsonValue) -> Iterator[tuple[Path, JsonValue]]:
    """Yield every scalar and every empty container with its path, in document order; never recurses."""
    stack: list[tuple[Path, JsonValue]] = [((), value)]
    while stack:
        path, node = stack.pop()
        if is_object(node) and node:
            stack.extend(((*path, key), child) for key, child in reversed(node.items()))
        elif is_list(node) and node:
            stack.extend(((*path, i), node[i]) for i in range(len(node) - 1, -1, -1))
        else:
            yield path, node


def path_text(path: Path) -> str:
    """Return a path as text: `data.hotels[0].hotel_id`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def _plain_container(value: Any, depth: int) -> JsonValue:
    if is_object(value):
        return {clean_text(str(key)): plain(child, depth + 1) for key, child in value.items()}
    return [plain(child, depth + 1) for child in value]


def _float_of(value: int) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
