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
Every schema is turned into functions once, for this stands before every look-up.
The keywords beginning with `x-` are ours: `ToolSchema.as_openai` hides them from models.
"""
from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, cast

import orjson

from environment.core.calls import JsonValue
from environment.core.per_object import PerObject
from environment.core.schema import ToolSchema

_NUMBER = re.compile(r"[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})([eE][+-]?\d{1,3})?", re.ASCII)
_DATE = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})|(\d{4})(\d\d)(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d{1,2}):(\d\d)(:00)?", re.ASCII)
_AGES = re.compile(r"\d{1,2}(\s*,\s*\d{1,2})*", re.ASCII)
_Object = dict[str, JsonValue]
_Schema = Mapping[str, Any]
_Convert = Callable[[Any], JsonValue]
_TOO_DEEP = '"<nested too deeply>"'
_NO_DEFAULT = object()
_ENCODE = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode
_PLAIN = frozenset((str, int, bool))


def canonical_arguments(schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the normal form of a call's arguments, known names in the schema's order, then the unknown ones.

    Idempotent. Two argument sets mean the same call exactly when their normal forms are equal.
    """
    return _object_form(schema.parameters)(arguments)


def canonical_key(schema: ToolSchema, arguments: Mapping[str, JsonValue]) -> str:
    """Return the normal form as ASCII JSON text with sorted names: the identity of a call of this tool."""
    return json_key(canonical_arguments(schema, arguments))


def json_key(value: JsonValue) -> str:
    """Return compact ASCII JSON with sorted names; one fixed text for values nested beyond reason."""
    if isinstance(value, dict) and _PLAIN.issuperset(map(type, cast(_Object, value).values())):
        quick = _quick_key(cast(_Object, value))
        if quick is not None:
            return quick
    try:
        return _ENCODE(value)
    except RecursionError:
        return _TOO_DEEP


def _quick_key(value: _Object) -> str | None:
    """Return the same for most calls in a tenth of the time; None where the two writers would differ."""
    try:
        text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return None
    return text.decode("ascii") if text.isascii() and b"\x7f" not in text else None


def canonical_value(parameter_schema: _Schema, value: JsonValue) -> JsonValue:
    """Return the normal form of one value under the JSON Schema of its parameter."""
    return _value_form(parameter_schema)(value)


def fold_text(text: str) -> str:
    """Return text without its accidents: case, outer and repeated white space, Unicode composition."""
    for _ in range(4):  # a fixed point is reached after two rounds but for a few rare characters
        folded = " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).casefold()).split())
        if folded == text:
            break
        text = folded
    return text


@dataclass(frozen=True)
class _Field:
    """One parameter of an object, ready to be applied."""

    name: str
    convert: _Convert
    required: bool
    default: object
    """In normal form; `_NO_DEFAULT` where the schema has none."""

    def says_nothing(self, canonical: JsonValue) -> bool:
        """Tell whether an optional value is blank or the default."""
        if isinstance(canonical, str) and not canonical.strip():
            return True
        return type(self.default) is type(canonical) and self.default == canonical


def _compile_value(parameter: _Schema) -> _Convert:
    """Return the function that brings a value of this schema into normal form."""
    match parameter.get("type"):
        case "number" | "integer":
            return partial(_canonical_number, parameter.get("x-decimals"))
        case "string":
            return _string_form(parameter)
        case "boolean":
            return _canonical_boolean
        case "array":
            return partial(_canonical_list, _value_form(parameter.get("items", {})))
        case "object":
            return partial(_canonical_nested, _object_form(parameter))
        case _:
            return _as_it_is


def _compile_object(schema: _Schema) -> Callable[[Mapping[str, JsonValue]], _Object]:
    """Return the function that brings an object of this schema into normal form."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = schema.get("required", ())
    fields: list[_Field] = []
    for name, parameter in properties.items():
        convert = _value_form(parameter)
        default = convert(parameter["default"]) if "default" in parameter else _NO_DEFAULT
        fields.append(_Field(name, convert, name in required, default))
    return partial(_canonical_object, tuple(fields), frozenset(properties))


_value_form = PerObject[_Schema, _Convert](_compile_value)
_object_form = PerObject[_Schema, Callable[[Mapping[str, JsonValue]], _Object]](_compile_object)


def _canonical_object(fields: tuple[_Field, ...], names: frozenset[str], value: Mapping[str, JsonValue]) -> _Object:
    out: _Object = {}
    seen = 0
    for field in fields:
        said = value.get(field.name)
        if said is not None:
            seen += 1
            canonical = field.convert(said)
            if field.required or not field.says_nothing(canonical):
                out[field.name] = canonical
    if seen < len(value):
        out.update((name, value[name]) for name in sorted(value) if name not in names and value[name] is not None)
    return out


def _as_it_is(value: JsonValue) -> JsonValue:
    return value


def _canonical_list(convert: _Convert, value: JsonValue) -> JsonValue:
    value = _read_json(value)
    return [convert(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value


def _canonical_nested(convert: _Convert, value: JsonValue) -> JsonValue:
    value = _read_json(value)
    return convert(value) if isinstance(value, dict) else value


def _canonical_number(decimals: int | None, value: JsonValue) -> JsonValue:
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        text = value.strip()
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
    if isinstance(value, float):
        if decimals is not None:
            value = round(value, decimals)
        return int(value) if value.is_integer() else value
    return value


def _string_form(parameter: _Schema) -> _Convert:
    shape = parameter.get("x-format") or parameter.get("format")
    return partial(_canonical_string, shape == "ages", _text_form(parameter, shape))


def _canonical_string(is_ages: bool, finish: Callable[[str], str], value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return finish(value.strip())
    if is_ages and isinstance(value, list):
        ages = cast("list[Any]", value)
        whole = all(type(age) is int for age in ages)
        return finish(",".join(map(str, ages))) if whole else ages
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return finish(str(value).strip())
    return value


def _text_form(parameter: _Schema, shape: str | None) -> Callable[[str], str]:
    if "enum" in parameter:
        return partial(_enum_member, parameter["enum"])
    if parameter.get("x-free-text"):
        return fold_text
    forms = {"date": _canonical_date, "time": _canonical_time, "ages": _canonical_ages}
    return forms.get(shape or "", str)


def _canonical_ages(text: str) -> str:
    return ",".join(map(str, sorted(map(int, text.split(","))))) if _AGES.fullmatch(text) else text


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
