"""Problems of a call's arguments in words a model can act on.

Arguments are judged in canonical form, so "2" is a fine integer and `economy` a fine cabin class. JSON Schema does
the work, compiled once per tool; `x-after` (this date lies after that one) and `x-not-before` are ours.
"""
from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, cast

import fastjsonschema

from environment.core.calls import JsonValue
from environment.core.canonical import canonical_arguments
from environment.core.errors import nearest_name
from environment.core.per_object import PerObject
from environment.core.schema import ToolSchema

_Check = Callable[[JsonValue], JsonValue]
_SHOWN = 60
_MOST_UNKNOWN = 8
"""Unknown names that are told one by one; a model that writes thousands needs no list."""
_AGES = re.compile(r"(1[0-7]|\d)(,(1[0-7]|\d))*", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)


def check_arguments(schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> list[str]:
    """Return what is wrong with a call's arguments, one sentence a problem; an empty list means valid."""
    return check_canonical(schema, canonical_arguments(schema, arguments))


def check_canonical(schema: ToolSchema, given: Mapping[str, JsonValue]) -> list[str]:
    """Return the same for arguments that are in canonical form already."""
    checks = _checks(schema.parameters)
    problems = [f"{name} is missing" for name in checks.required if name not in given]
    problems += _unknown_names(schema, given, checks)
    for name, (passes, parameter) in checks.parameters.items():
        if name in given:
            problem = _problem(name, passes, given[name])
            problems += [problem] if problem else _order_problems(name, parameter, given)
    return problems


def _unknown_names(schema: ToolSchema, given: Mapping[str, JsonValue], checks: _Checks) -> list[str]:
    unknown = [name for name in given if name not in checks.parameters]
    said = [_unknown(name, schema) for name in unknown[:_MOST_UNKNOWN]]
    more = len(unknown) - len(said)
    return [*said, f"{more} more names are not parameters"] if more else said


def _unknown(name: str, schema: ToolSchema) -> str:
    near = nearest_name(name, schema.properties)
    return f"{_short(name)} is not a parameter" + (f", did you mean {near}?" if near else "")


def _problem(name: str, passes: _Check, value: JsonValue) -> str | None:
    try:
        passes(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return _in_words(name, error)
    except RecursionError:
        return f"{name} is nested too deeply"
    return None


def _order_problems(name: str, parameter: Mapping[str, Any], given: Mapping[str, JsonValue]) -> list[str]:
    if "x-after" not in parameter and "x-not-before" not in parameter:
        return []
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


@dataclass(frozen=True)
class _Checks:
    """What a call of one tool is held against."""

    required: tuple[str, ...]
    parameters: dict[str, tuple[_Check, Mapping[str, Any]]]
    """Name → compiled check, which raises, and the parameter's schema."""


def _compile(parameters: Mapping[str, Any]) -> _Checks:
    properties: Mapping[str, Any] = parameters.get("properties", {})
    return _Checks(
        tuple(parameters.get("required", ())), {name: (_compiled(each), each) for name, each in properties.items()}
    )


_checks = PerObject[Mapping[str, Any], _Checks](_compile)


def _compiled(parameter: Mapping[str, Any]) -> _Check:
    formats: dict[str, Any] = {"date": _is_date, "time": _is_time, "ages": _is_ages}
    return cast(_Check, fastjsonschema.compile(_prepared(parameter), formats=formats, use_default=False))


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
