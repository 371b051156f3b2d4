"""Telling an answer from something else that a service sent: each tool's schema says what its answers look like.

A shape is a JSON Schema that names what must be there and leaves the rest open, for services add fields at will. An
answer without the wrapper `data` is judged as if it had it: one service does both.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, cast

import fastjsonschema

from environment.core.calls import JsonValue
from environment.core.ports import WRAPPER
from environment.core.schema import ToolSchema

Check = Callable[[JsonValue], JsonValue]
_SHOWN = 80


class Shapes:
    """The shapes of the answers of some tools, compiled when first asked for."""

    def __init__(self, schemas: Mapping[str, ToolSchema]) -> None:
        self._schemas = schemas
        self._checks: dict[str, Check | None] = {}

    def problem(self, tool: str, value: JsonValue) -> str | None:
        """Return in one sentence why a value is no answer of a tool; None where it is one or no shape is stated."""
        if tool not in self._checks:
            self._checks[tool] = _compiled(self._schemas[tool]) if tool in self._schemas else None
        check = self._checks[tool]
        if check is None:
            return None
        wrapped = isinstance(value, dict) and WRAPPER in value
        wraps = WRAPPER in self._schemas[tool].response.get("properties", {})
        return _problem(check, value if wrapped or not wraps else {WRAPPER: value})


def _compiled(schema: ToolSchema) -> Check | None:
    if not schema.response:
        return None
    compiled = fastjsonschema.compile(dict(schema.response), formats={"date": _is_date}, use_default=False)
    return cast("Check", compiled)


def _problem(check: Check, value: JsonValue) -> str | None:
    try:
        check(value)
    except fastjsonschema.JsonSchemaValueException as error:
        return _in_words(error)
    except RecursionError:
        return "the answer is nested too deeply"
    return None


def _in_words(error: fastjsonschema.JsonSchemaValueException) -> str:
    where = str(error.name).removeprefix("data.") or WRAPPER
    rule: Any = error.rule_definition
    match error.rule:
        case "required":
            held: Any = error.value
            missing = [name for name in cast("list[str]", rule) if name not in held]
            return f"{where} lacks {', '.join(missing)}"
        case "anyOf":
            names = [name for option in cast("list[Any]", rule) for name in option.get("required", ())]
            return f"{where} has none of {', '.join(names)}"
        case "type":
            kinds = cast("list[str]", rule) if isinstance(rule, list) else [str(rule)]
            return f"{where} is no {' or '.join(kinds)}: {_short(error.value)}"
        case _:
            return f"{where} is not as expected: {_short(error.value)}"


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def _short(value: JsonValue) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        return "a value nested too deeply"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
