"""JavaScript source text of one argument → the Python value it is compared as; text that doesn't fit stays text.

Patterns, no parser, as the leaderboard's: a list is split at every comma, an object ends at its first closing brace,
and what follows the first closing bracket is not looked at.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

# A line end after a number is let pass, as it is there.
_WHOLE = re.compile(r"-?\d+\n?")
_BIG = re.compile(r"-?\d+n\n?")
_FLOAT = re.compile(r"-?\d+(\.\d+)?\n?")
_ROWS = re.compile(r"\[\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\]|\bnew\s+Array\(\s*\[.*?\]\s*(,\s*\[.*?\]\s*)*\)")
_ROW = re.compile(r"\[(.*?)\]")
_ARRAY = re.compile(r"\[(.*?)\]|\bnew\s+Array\((.*?)\)")
_OBJECT = re.compile(r"\{(.*?)\}")
_QUOTES = ("'", '"')


def read_javascript(text: str, type_name: str, item_type: str | None = None) -> Any:
    """Return the value of an argument; arguments as for `read_java`."""
    if type_name == "array":
        return _array(text.strip(), item_type)
    reader = _READERS.get(type_name)
    return text if reader is None else reader(text)


def _text(text: str) -> str:
    return text[1:-1] if text[:1] in _QUOTES and text.endswith(text[0]) else text


def _truth(text: str) -> Any:
    return text == "true" if text in ("true", "false") else text


def _whole(text: str) -> Any:
    return int(text) if _WHOLE.fullmatch(text) else text


def _float(text: str) -> Any:
    return float(text) if _FLOAT.fullmatch(text) else text


def _big(text: str) -> Any:
    return int(text.strip()[:-1]) if _BIG.fullmatch(text) else text


def _array(text: str, item_type: str | None) -> Any:
    rows = _ROWS.match(text)
    if rows:
        first, *rest = (row.strip() for row in _ROW.findall(rows[0]))
        return [[_value(part) for part in row.split(",")] for row in (first.removeprefix("["), *rest)]
    found = _ARRAY.match(text)
    if not found:
        return text
    parts = (found[1] if found[1] is not None else found[2]).strip()
    return [_item(part.strip(), item_type) for part in parts.split(",")] if parts else []


def _item(text: str, item_type: str | None) -> Any:
    return read_javascript(text, item_type) if item_type else _value(text)


def _object(text: str) -> Any:
    text = text.strip()
    found = _OBJECT.match(text)
    if text == "{}" or not found:
        return {} if text == "{}" else text
    return {key.strip().strip("'\""): _entry(value.strip()) for key, value in _entries(found[1])}


def _entries(content: str) -> Iterator[tuple[str, str]]:
    """Yield keys and values: an entry ends at the last comma before the next colon, so values may hold commas."""
    first, *pieces = content.split(",")
    entry = first
    for piece in pieces:
        if ":" in piece[1:] and ":" in entry:
            yield from _entry_of(entry)
            entry = piece
        else:
            entry = f"{entry},{piece}"
    yield from _entry_of(entry)


def _entry_of(entry: str) -> Iterator[tuple[str, str]]:
    key, colon, value = entry.lstrip(":").partition(":")
    if colon:
        yield key, value


def _entry(value: str) -> Any:
    if value.startswith("[") and value.endswith("]"):
        return _array(value, None)
    return _object(value) if value.startswith("{") and value.endswith("}") else _value(value.strip("'\""))


def _value(text: str) -> Any:
    """Return a value whose type nobody names, by the way it is written."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text[:1] in _QUOTES and text.endswith(text[0]):
        return text[1:-1]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_READERS: Mapping[str, Callable[[str], Any]] = {
    "String": _text,
    "integer": _whole,
    "float": _float,
    "Bigint": _big,
    "Boolean": _truth,
    "dict": _object,
}
