"""Java source text of one argument → the Python value it is compared as; text that doesn't fit its type stays text.

The leaderboard's readers are lines of patterns, no parsers of Java, and their verdicts are the standard: texts in an
array of String keep their quotes, a `Map.of` is not read, and a character is never anything but its text.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

# A line end after a number is let pass, as it is there.
_WHOLE = re.compile(r"-?\d+\n?")
_LONG = re.compile(r"-?\d+[lL]\n?")
_FLOAT = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?[fF]\n?")
_DOUBLE = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?\n?")
_AS_LIST = re.compile(r"new\s+ArrayList<\w*>\(Arrays\.asList\((.+?)\)\)")
_ADDING = re.compile(r"new\s+ArrayList<\w*>\(\)\s*\{\{\s*(.+?)\s*\}\}", re.DOTALL)
_ADD = re.compile(r"add\((.+?)\)")
_EMPTY_LIST = re.compile(r"new\s+ArrayList<\w*>\(\)")
_ARRAY = re.compile(r"new\s+\w+\[\]\s*\{(.*?)\}")
_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)\s*\{\s*\{?\s*(.*?)\s*\}?\s*\}", re.DOTALL)
_EMPTY_MAP = re.compile(r"new\s+HashMap<.*?>\s*\(\)")
_PUT = re.compile(r"put\(\"(.*?)\",\s*(.*?)\)")


def read_java(text: str, type_name: str, item_type: str | None = None) -> Any:
    """Return the value of an argument.

    Args:
        text: the source text.
        type_name: a name of `kinds.KINDS`; those without a reader keep the text.
        item_type: the type of a list's items, where the document names it.
    """
    if type_name in ("Array", "ArrayList"):
        return (_array if type_name == "Array" else _array_list)(text, item_type)
    reader = _READERS.get(type_name)
    return text if reader is None else reader(text)


def _number(pattern: re.Pattern[str], kind: Callable[[str], int | float], suffix: str = "") -> Callable[[str], Any]:
    def read(text: str) -> Any:
        return kind(text.strip().rstrip(suffix)) if pattern.fullmatch(text) else text

    return read


def _truth(text: str) -> Any:
    return text == "true" if text in ("true", "false") else text


def _array_list(text: str, item_type: str | None) -> Any:
    listed = _AS_LIST.search(text)
    if listed:
        return [_item(part.strip(), item_type) for part in listed[1].split(",")]
    added = _ADDING.search(text)
    if added:
        return [_item(part.strip(), item_type) for part in _ADD.findall(added[1])]
    return [] if _EMPTY_LIST.search(text) else text


def _item(text: str, item_type: str | None) -> Any:
    if item_type in ("char", "String"):
        return text[1:-1]
    return read_java(text, item_type) if item_type else _value(text)


def _array(text: str, item_type: str | None) -> Any:
    found = _ARRAY.search(text)
    if not found:
        return text
    parts = [part.strip() for part in found[1].split(",") if part.strip()]
    return [read_java(part, item_type) if item_type else _value(part) for part in parts]


def _map(text: str) -> Any:
    found = _MAP.search(text)
    if found:
        return {key: _value(value.strip()) for key, value in _PUT.findall(found[1])}
    return {} if _EMPTY_MAP.search(text) else text


def _value(text: str) -> Any:
    """Return a value whose type nobody names, by the way it is written."""
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"') and text.endswith('"'):
        return text[1:-1]
    if _LONG.fullmatch(text):
        return int(text.strip()[:-1])
    if _FLOAT.fullmatch(text):
        return float(text.strip()[:-1])
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


_WHOLE_NUMBER = _number(_WHOLE, int)
_READERS: Mapping[str, Callable[[str], Any]] = {
    "byte": _WHOLE_NUMBER,
    "short": _WHOLE_NUMBER,
    "integer": _WHOLE_NUMBER,
    "long": _number(_LONG, int, "lL"),
    "float": _number(_FLOAT, float, "fF"),
    "double": _number(_DOUBLE, float),
    "boolean": _truth,
    "HashMap": _map,
}
