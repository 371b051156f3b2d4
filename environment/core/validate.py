"""Problems of a call's arguments in words a model can act on.

Arguments are judged in canonical form, so "2" is a fine integer and `economy` a fine cabin class. JSON Schema does
the work, compiled once per parameter; `x-after` (this date lies after that one) and `x-not-before` are ours.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from typing import Any, cast

import fastjsonschema

from environment.core.calls import JsonValue
from environment.core.canonical import canonical_arguments
from environment.core.errors import nearest_name
from environment.core.schema import ToolSchema

_SHOWN = 60
_AGES = re.compile(r"(1[0-7]|\d)(,(1[0-7]|\d))*", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)


def check_arguments(schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return what is wrong with a call's arguments, one sentence a problem; an empty list means valid."""
    return check_canonical(schema, canonical_arguments(schema, arguments))


def check_canonical(schema: ToolSchema, given: Mapping[str, JsonValue]) -> list[str]:
    """Return the same for arguments that are in canonical form already."""
    problems = [f"{name} is missing" for name in schema.required if name not in given]
    problems += [_unknown(name, schema) for name in given if name not in schema.properties]
    for name, parameter in schema.properties.items():
        if name in given:
            problem = _problem(name, parameter, given[name])
            problems += [problem] if problem else _order_problems(name, parameter, given)
    return problems


def _unknown(name: str, schema: ToolSchema) -> str:
    near = nearest_name(name, schema.properties)
    return f"{_short(name)} is not a parameter" + (f", did you mean {near}?" if near else "")


def _problem(name: str, parameter: Mapping[str, Any], value: JsonValue) -> str | None:
    try:
        _compiled(_Same(parameter))(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return _in_words(name, error)
    except RecursionError:
        return f"{name} is nested too deeply"
    return None


def _order_problems(name: str, parameter: Mapping[str, Any], given: Mapping[str, JsonValue]) -> list[str]:
    problems: list[str] = []
    for rule, words in (("x-after", "after"), ("x-not-before", "on or after")):
        other = parameter.get(rule)
        if other is None:
            continue
        early, late = _day(given.get(other)), _day(given[name])
        if early and late and (late < early or (late == early and rule == "x-after")):
            problems.append(f"{name} must be {words} {other} ({early}), got {late}")
    return problems


def _day(value: JsonValue) -> date | None:
    try:
        return date.fromisoformat(value) if isinstance(value, str) and len(value) == 10 else None
    except ValueError:
        return None


class _Same:
    """A parameter's schema as a key of the cache below: equal to itself alone, which it keeps alive."""

    def __init__(self, parameter: Mapping[str, Any]) -> None:
        self.parameter = parameter

    def __hash__(self) -> int:
        return id(self.parameter)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.parameter is self.parameter


@lru_cache(maxsize=4096)
def _compiled(same: _Same) -> Callable[[JsonValue], JsonValue]:
    schema = _prepared(same.parameter)
    formats: dict[str, Any] = {"date": _is_date, "time": _is_time, "ages": _is_ages}
    return cast("Callable[[JsonValue], JsonValue]", fastjsonschema.compile(schema, formats=formats, use_default=False))


def _prepared(schema: JsonValue) -> JsonValue:
    """Return the schema with `x-format` in place of `format`, blank text and unknown names refused, at every level."""
    if isinstance(schema, list):
        return [_prepared(item) for item in cast("list[JsonValue]", schema)]
    if not isinstance(schema, dict):
        return schema
    known = cast("dict[str, JsonValue]", schema)
    out = {name: _prepared(value) for name, value in known.items()}
    if isinstance(known.get("x-format"), str):
        out["format"] = known["x-format"]
    if known.get("type") == "string":
        out.setdefault("minLength", 1)  # optional blanks are gone from the canonical form: this one was required
    if known.get("type") == "object" and "properties" in known:
        out.setdefault("additionalProperties", False)
    return out


def _is_date(text: str) -> bool:
    return _day(text) is not None


def _is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None


def _is_ages(text: str) -> bool:
    return _AGES.fullmatch(text) is not None


_WORDS: dict[str, str] = {
    "date": "a date as YYYY-MM-DD",
    "time": "a time as HH:MM",
    "ages": "ages from 0 to 17 as 4,17",
    "integer": "an integer",
    "array": "a list",
    "object": "an object",
}


def _in_words(name: str, error: fastjsonschema.JsonSchemaValueException) -> str:
    where = name + str(error.name).removeprefix("data")
    got, rule = _short(error.value), error.rule_definition
    match error.rule:
        case "type":
            return f"{where} must be {_WORDS.get(rule, f'a {rule}')}, got {got}"
        case "format":
            return f"{where} must be {_WORDS.get(rule, rule)}, got {got}"
        case "enum":
            return f"{where} must be one of {', '.join(map(str, cast('list[Any]', rule)))}, got {got}"
        case "minimum":
            return f"{where} must be at least {rule}, got {got}"
        case "maximum":
            return f"{where} must be at most {rule}, got {got}"
        case "minLength" | "minItems":
            return f"{where} must not be empty"
        case "required":
            missing = [m for m in cast("list[str]", rule) if m not in error.value]
            return f"{where} lacks {', '.join(missing)}"
        case "additionalProperties":
            return f"{where} has unknown names, got {got}"
        case _:
            return f"{where} is not valid, got {got}"


def _short(value: JsonValue) -> str:
    try:
        text = value if isinstance(value, str) else json.dumps(value)
    except RecursionError:
        return "a value nested too deeply"
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return f"'{shown}'" if isinstance(value, str) else shown
