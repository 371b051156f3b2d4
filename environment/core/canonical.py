"""The one normal form of a call's arguments: equal meaning, equal form; different ids, different form.

The cache key, the data checks, the reward and the evaluation all compare calls in this form, so they cannot disagree.
It is driven by the tool's JSON Schema and never raises on a value that `json.loads` can give:

    number, integer   "2", " 2 ", 2.0 → 2; rounded to `x-decimals` places where the schema says so (coordinates)
    string            5, 5.0 → "5"; outer spaces off; otherwise exact, so "007" and "7" stay two ids
      enum            the member that is equal but for case, spaces, `-` and `_`
      format date     2026-5-3, 2026/05/03, 20260503 → 2026-05-03
      format time     9:00, 09:00:00 → 09:00
      x-format ages   [17, 4], "17, 4" → "4,17"
      x-free-text     folded by `fold_text`
    array, object     item by item; JSON text of a list or object is read
    null, blank optional strings and values equal to the schema's default are left out

A value that fits none of this stays as it is, for validation to name. Unknown argument names are kept.
The keywords beginning with `x-` are ours: `ToolSchema.as_openai` hides them from models.
"""
from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from datetime import date
from typing import Any, cast

from environment.core.calls import JsonValue
from environment.core.schema import ToolSchema

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{4})(\d\d)(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d\d)(:00)?", re.ASCII)
_AGES = re.compile(r"\d{1,2}(\s*,\s*\d{1,2})*", re.ASCII)
_Object = dict[str, JsonValue]
_TOO_DEEP = '"<nested too deeply>"'


def canonical_arguments(schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the normal form of a call's arguments, known names in the schema's order, then the unknown ones.

    Idempotent. Two argument sets mean the same call exactly when their normal forms are equal.
    """
    return _canonical_object(schema.parameters, arguments)


def canonical_key(schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> str:
    """Return the normal form as ASCII JSON text with sorted names: the identity of a call of this tool."""
    return json_key(canonical_arguments(schema, arguments))


def json_key(value: JsonValue) -> str:
    """Return compact ASCII JSON with sorted names; one fixed text for values nested beyond reason."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        return _TOO_DEEP


def canonical_value(parameter_schema: Mapping[str, Any], value: JsonValue) -> JsonValue:
    """Return the normal form of one value under the JSON Schema of its parameter."""
    match parameter_schema.get("type"):
        case "number" | "integer":
            return _canonical_number(parameter_schema, value)
        case "string":
            return _canonical_string(parameter_schema, value)
        case "boolean":
            return _canonical_boolean(value)
        case "array":
            items: Mapping[str, Any] = parameter_schema.get("items", {})
            value = _read_json(value)
            return [canonical_value(items, v) for v in cast("list[Any]", value)] if isinstance(value, list) else value
        case "object":
            value = _read_json(value)
            return _canonical_object(parameter_schema, cast(_Object, value)) if isinstance(value, dict) else value
        case _:
            return value


def fold_text(text: str) -> str:
    """Return text without its accidents: case, outer and repeated white space, Unicode composition."""
    for _ in range(4):  # a fixed point is reached after two rounds but for a few rare characters
        folded = " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).split())
        if folded == text:
            break
        text = folded
    return text


def _canonical_object(schema: Mapping[str, Any], value: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    out: dict[str, JsonValue] = {}
    for name, parameter in properties.items():
        if value.get(name) is not None:
            canonical = canonical_value(parameter, value[name])
            if name in required or not _says_nothing(parameter, canonical):
                out[name] = canonical
    out.update((name, value[name]) for name in sorted(value) if name not in properties and value[name] is not None)
    return out


def _says_nothing(parameter: Mapping[str, Any], canonical: JsonValue) -> bool:
    if isinstance(canonical, str) and not canonical.strip():
        return True
    if "default" not in parameter:
        return False
    default = canonical_value(parameter, parameter["default"])
    return type(default) is type(canonical) and default == canonical


def _canonical_number(parameter: Mapping[str, Any], value: JsonValue) -> JsonValue:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        text = value.strip()
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
    if isinstance(value, float):
        if "x-decimals" in parameter:
            value = round(value, parameter["x-decimals"])
        return int(value) if value.is_integer() else value
    return value


def _canonical_string(parameter: Mapping[str, Any], value: JsonValue) -> JsonValue:
    shape = parameter.get("x-format") or parameter.get("format")
    if shape == "ages" and isinstance(value, list):
        ages = cast("list[Any]", value)
        whole = all(type(age) is int for age in ages)
        return _canonical_text(parameter, ",".join(map(str, ages)), shape) if whole else ages
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return _canonical_text(parameter, value.strip(), shape) if isinstance(value, str) else value


def _canonical_text(parameter: Mapping[str, Any], text: str, shape: str | None) -> str:
    if "enum" in parameter:
        return _enum_member(parameter["enum"], text)
    if parameter.get("x-free-text"):
        return fold_text(text)
    match shape:
        case "date":
            return _canonical_date(text)
        case "time":
            return _canonical_time(text)
        case "ages":
            return ",".join(map(str, sorted(map(int, text.split(","))))) if _AGES.fullmatch(text) else text
        case _:
            return text


def _canonical_boolean(value: JsonValue) -> JsonValue:
    if not isinstance(value, str):
        return value
    text = value.strip().lower()
    return text == "true" if text in ("true", "false") else value


def _canonical_date(text: str) -> str:
    found = _DATE.fullmatch(text)
    if not found:
        return text
    year, month, day = (found[i] or found[j] for i, j in ((1, 5), (3, 6), (4, 7)))
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return text


def _canonical_time(text: str) -> str:
    found = _TIME.fullmatch(text)
    if not found or int(found[1]) > 23 or int(found[2]) > 59:
        return text
    return f"{int(found[1]):02d}:{found[2]}"


def _enum_member(members: list[JsonValue], text: str) -> str:
    if text in members:
        return text
    like = [m for m in members if isinstance(m, str) and _bare(m) == _bare(text)]
    return like[0] if len(like) == 1 else text


def _bare(text: str) -> str:
    return re.sub(r"[\s_-]+", "", text).casefold()


def _read_json(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
