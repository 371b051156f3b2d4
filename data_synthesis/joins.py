"""Which earlier result an argument came from, found again over stored responses.

The reference's records don't say it. An argument is joined to a field of an earlier response where both hold the
same value in the typed normal form of the parameter, and

* the field gives the port that the argument takes, or
* the value can't be a coincidence: text of six characters or more with a digit or a capital inside, or a number of
  five digits or more. Small numbers, dates, yes and no, and plain words are never joined without a port: counts and
  labels would match by chance.

Among several fields, a producer the record names comes first, then the latest producer, then the first field.
"""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data_synthesis.paths import generic, leaves
from data_synthesis.words import dates_in
from environment.core.calls import JsonValue
from environment.core.canonical import canonical_value, fold_text
from environment.core.schema import ToolSchema
from environment.core.task import Edge

_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?|\d\d?:\d\d")
_NUMERIC = re.compile(r"[+-]?\d{1,15}(\.\d{1,15})?")
_WORD = re.compile(r"\w+")
_MIN_TEXT = 6
_MIN_DIGITS = 5


@dataclass(frozen=True)
class Earlier:
    """An earlier step: its number, its tool where known, and its stored response."""

    number: int
    schema: ToolSchema | None
    response: JsonValue


def join_edges(
    arguments: Mapping[str, JsonValue],
    schema: ToolSchema | None,
    earlier: Sequence[Earlier],
    named: Sequence[int] = (),
    query: str = "",
) -> tuple[Edge, ...]:
    """Return one edge for every argument leaf that an earlier response explains.

    Args:
        arguments: of the step to explain.
        schema: of its tool; None joins by telling values alone.
        earlier: the steps before it.
        named: producers the record itself names.
        query: what the user said; a place or date stated there needs no source.
    """
    order = sorted(earlier, key=lambda e: (e.number not in named, -e.number))
    edges: list[Edge] = []
    for path, value in leaves(dict(arguments)):
        edge = None if _said(value, query) else _explain(path, value, schema, order)
        if edge is not None:
            edges.append(edge)
    return tuple(edges)


def parameter_schema(schema: ToolSchema | None, path: str) -> Mapping[str, Any]:
    """Return the JSON Schema of the parameter at a generic path such as `legs[].fromId`; empty where unknown."""
    node: Any = schema.parameters if schema else {}
    for part in generic(path).split("."):
        name = part.removesuffix("[]")
        node = node.get("properties", {}).get(name, {})
        node = node.get("items", {}) if part.endswith("[]") else node
    return node


def _explain(path: str, value: JsonValue, schema: ToolSchema | None, order: Sequence[Earlier]) -> Edge | None:
    port = schema.takes.get(generic(path)) if schema else None
    if port is None and not _telling(value):
        return None
    parameter = dict(parameter_schema(schema, path))
    wanted = canonical_value(parameter, value)
    fallback: Edge | None = None
    for producer in order:
        for field, candidate in leaves(producer.response):
            if _loose(candidate) != _loose(value) or canonical_value(parameter, candidate) != wanted:
                continue
            if port is not None and _gives(producer.schema, field) == port:
                return Edge(path, producer.number, field)
            if fallback is None and _telling(value):
                fallback = Edge(path, producer.number, field)
    return fallback


def _said(value: JsonValue, query: str) -> bool:
    if not isinstance(value, str) or not value.strip():
        return False
    if _DATE.fullmatch(value):
        return any(day.isoformat() == value[:10] for day in dates_in(query))
    return f" {_words(value)} " in f" {_words(query)} "


def _words(text: str) -> str:
    return " ".join(_WORD.findall(fold_text(text)))


def _gives(schema: ToolSchema | None, field: str) -> str | None:
    if schema is None:
        return None
    shape = generic(field)
    return schema.gives.get(shape) or schema.gives.get(f"data.{shape}") or schema.gives.get(f"data{shape}")


def _loose(value: JsonValue) -> str | float:
    """Return a form that is equal wherever canonical values can be: numbers as numbers, text folded."""
    text = str(value).strip().casefold()
    return float(text) if _NUMERIC.fullmatch(text) else text


def _telling(value: JsonValue) -> bool:
    if isinstance(value, bool) or value is None:
        return False
    text = str(value).strip()
    if _DATE.fullmatch(text):
        return False
    if isinstance(value, int | float):
        return sum(c.isdigit() for c in text) >= _MIN_DIGITS
    inner = text[1:]
    return len(text) >= _MIN_TEXT and " " not in text and any(c.isdigit() or c.isupper() for c in inner)
