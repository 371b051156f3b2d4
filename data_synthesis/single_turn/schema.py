"""Checking calls against the tools of their row: names, required arguments, types, choices, bounds.

Values are judged as they stand: `"2"` is no integer. `typed` mends what has one right reading, and says so.
The checks walk the schema and make no code of it, for these schemas come with the rows.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from data_synthesis.single_turn.model import Call, Drop, Item
from environment.core.calls import JsonValue
from environment.core.canonical import canonical_value
from environment.core.errors import nearest_name
from environment.core.schema import ToolSchema


def check(item: Item) -> None:
    """Raise Drop at the first call that its tool doesn't take."""
    for number, call in enumerate(item.calls, 1):
        tool = item.tool(call.name)
        if tool is None:
            near = nearest_name(call.name, [t.name for t in item.tools])
            raise Drop("unknown_tool", f"call {number}: {call.name!r}" + (f", nearest {near!r}" if near else ""))
        for reason, detail in problems(tool, call.arguments):
            raise Drop(reason, f"call {number}, {call.name}: {detail}")


def problems(tool: ToolSchema, arguments: Mapping[str, JsonValue]) -> Iterator[tuple[str, str]]:
    """Yield (reason, detail) for everything wrong with the arguments of a call."""
    for name in tool.required:
        if name not in arguments:
            yield "missing_argument", f"{name} is missing"
    for name, value in arguments.items():
        parameter = tool.properties.get(name)
        if parameter is None:
            near = nearest_name(name, tool.properties)
            yield "unknown_argument", f"{name!r} is not a parameter" + (f", nearest {near!r}" if near else "")
        else:
            yield from _wrong(parameter, value, name)


def typed(item: Item) -> Item:
    """Return the row with the values that have one right reading in the type of their parameter.

    `"5"` becomes 5 where an integer is due, `"True"` True, `5` "5"; null for what may be left out goes. A value that
    fits as it is, or has no such reading, stays.
    """
    repairs: list[str] = []
    calls = tuple(_typed_call(item, call, repairs) for call in item.calls)
    return replace(item, calls=calls, repairs=(*item.repairs, *repairs)) if repairs else item


def _typed_call(item: Item, call: Call, repairs: list[str]) -> Call:
    tool = item.tool(call.name)
    if tool is None:
        return call
    arguments: dict[str, JsonValue] = {}
    for name, value in call.arguments.items():
        parameter = tool.properties.get(name)
        if parameter is None or not any(_wrong(parameter, value, name)):
            arguments[name] = value
        elif value is None and name not in tool.required:
            repairs.append(f"{call.name}.{name}: null left out")
        else:
            arguments[name] = mended = _mended(parameter, value, name)
            if mended is not value:
                repairs.append(f"{call.name}.{name}: {value!r} → {mended!r}")
    return Call(call.name, arguments)


def _mended(parameter: Mapping[str, Any], value: JsonValue, name: str) -> JsonValue:
    if parameter.get("type") == "boolean" and isinstance(value, str) and value.strip().lower() in ("true", "false"):
        found: JsonValue = value.strip().lower() == "true"
    else:
        found = canonical_value(parameter, value)
    return value if any(_wrong(parameter, found, name)) else found


def _wrong(parameter: Mapping[str, Any], value: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    kinds = parameter.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield "wrong_type", f"{path} must be {' or '.join(kinds)}, got {_short(value)}"
        return
    choices = parameter.get("enum")
    if choices and not any(type(c) is type(value) and c == value for c in choices):
        yield "not_a_choice", f"{path} must be one of {_short(choices)}, got {_short(value)}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield from _beyond(parameter, value, path, "minimum", "maximum", value)
    if isinstance(value, list):
        yield from _beyond(parameter, len(value), path, "minItems", "maxItems", value)
        items = parameter.get("items")
        for number, entry in enumerate(value if items else ()):
            yield from _wrong(items or {}, entry, f"{path}[{number}]")
    if isinstance(value, dict):
        yield from _members(parameter, value, path)


def _members(parameter: Mapping[str, Any], value: Mapping[str, JsonValue], path: str) -> Iterator[tuple[str, str]]:
    known: Mapping[str, Any] | None = parameter.get("properties")
    if known is None:
        return
    for name in parameter.get("required", ()):
        if name not in value:
            yield "missing_argument", f"{path}.{name} is missing"
    for name, entry in value.items():
        if name in known:
            yield from _wrong(known[name], entry, f"{path}.{name}")
        else:
            yield "unknown_argument", f"{path}.{name} is not in the schema"


def _beyond(
    parameter: Mapping[str, Any], size: float, path: str, least: str, most: str, value: JsonValue
) -> Iterator[tuple[str, str]]:
    low, high = parameter.get(least), parameter.get(most)
    if (isinstance(low, int | float) and size < low) or (isinstance(high, int | float) and size > high):
        yield "out_of_bounds", f"{path} is out of its bounds ({low} to {high}), got {_short(value)}"


def _is(value: JsonValue, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:
            return value is None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else text[:100] + "…"
