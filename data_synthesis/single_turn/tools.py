"""Tools of a row as `ToolSchema`: JSON Schema, BFCL's dialect of it, or xlam's Python types.

    {"query": {"type": "str, optional", "default": ""}}    xlam: a flat object of parameters
    {"type": "dict", "properties": {...}, "required": []}  ToolACE, BFCL, OpenAI

Only the keywords that are checked here are taken over. Schemas come from strangers: a `$ref` is never followed, and no
code is made of them. A type without a JSON counterpart (`Callable`) becomes one that takes anything.
"""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from data_synthesis.single_turn.calls import read_json
from data_synthesis.single_turn.model import Drop
from environment.core.schema import ToolSchema

_TYPES = {
    "str": "string", "string": "string", "int": "integer", "integer": "integer", "long": "integer",
    "float": "number", "number": "number", "double": "number", "bool": "boolean", "boolean": "boolean",
    "list": "array", "array": "array", "set": "array", "tuple": "array", "sequence": "array", "iterable": "array",
    "dict": "object", "object": "object", "mapping": "object", "hashmap": "object", "arraylist": "array",
    "null": "null",
}  # fmt: skip
_SAME = ("description", "default", "minimum", "maximum", "minItems", "maxItems")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]+")
MAX_DEPTH = 8
"""Levels of nesting of a parameter; what lies deeper takes anything."""


def plain_name(name: str) -> str:
    """Return a tool's name as endpoints take it: letters, digits, `_` and `-`, at most 64 of them."""
    return _NOT_IN_NAMES.sub("_", name.strip()).strip("_")[:64]


def read_tools(value: object) -> tuple[tuple[ToolSchema, ...], dict[str, str]]:
    """Return the tools of a row, and the names they had → those they have now; Drop where there are none."""
    if isinstance(value, str):
        value = read_json(value)
    if not isinstance(value, list) or not value:
        raise Drop("no_tools", "the row offers no tools")
    tools, names = [], dict[str, str]()
    for number, entry in enumerate(value, 1):
        name, tool = _tool(entry, number)
        if name in names or tool.name in names.values():
            raise Drop("tool_twice", f"two tools are called {name!r}")
        names[name] = tool.name
        tools.append(tool)
    return tuple(tools), names


def _tool(entry: Any, number: int) -> tuple[str, ToolSchema]:
    held = entry.get("function") if isinstance(entry, dict) and isinstance(entry.get("function"), dict) else entry
    if not isinstance(held, dict) or not isinstance(held.get("name"), str) or not plain_name(held["name"]):
        raise Drop("bad_tool", f"tool {number} has no name")
    # Many rows offer the same tool: one object for equal ones.
    return held["name"], _schema(json.dumps(held, sort_keys=False))


@lru_cache(maxsize=8192)
def _schema(text: str) -> ToolSchema:
    held = json.loads(text)
    description = held.get("description")
    return ToolSchema(
        plain_name(held["name"]), description if isinstance(description, str) else "", _parameters(held)
    )


def _parameters(tool: Mapping[str, Any]) -> dict[str, Any]:
    given = tool.get("parameters") or tool.get("arguments") or {}
    if not isinstance(given, dict):
        raise Drop("bad_tool", f"the parameters of {tool['name']!r} are no object")
    if isinstance(given.get("properties"), dict) and not isinstance(given.get("type"), dict):
        return {"type": "object", **_members(given["properties"], given.get("required"), 0)}
    if isinstance(given.get("type"), str) and "properties" not in given:
        return {"type": "object", "properties": {}}
    return {"type": "object", **_members(given, None, 0)}


def _members(given: Mapping[str, Any], required: object, depth: int) -> dict[str, Any]:
    """Return `properties` and `required`; without a list, what is neither optional nor has a default is required."""
    found = {name: _parameter(value, depth + 1) for name, value in given.items()}
    if isinstance(required, list):
        needed = [name for name in found if name in required]
    else:
        needed = [name for name, (_, optional) in found.items() if not optional]
    return {"properties": {name: schema for name, (schema, _) in found.items()}, "required": needed}


def _parameter(value: Any, depth: int) -> tuple[dict[str, Any], bool]:
    """Return a parameter's schema and whether it may be left out."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return {}, True
    said = value.get("type")
    schema, optional = _python_type(said) if isinstance(said, str) else (_several(said), False)
    schema |= {name: value[name] for name in _SAME if name in value}
    if isinstance(value.get("enum"), list) and value["enum"]:
        schema["enum"] = value["enum"]
    if schema.get("type") == "array" and isinstance(value.get("items"), dict):
        schema["items"] = _parameter(value["items"], depth + 1)[0]
    if schema.get("type") == "object" and isinstance(value.get("properties"), dict) and value["properties"]:
        required = value.get("required")
        schema |= _members(value["properties"], required if isinstance(required, list) else [], depth)
    return schema, optional or "default" in value


def _several(said: object) -> dict[str, Any]:
    names = [_TYPES[name.lower()] for name in said if str(name).lower() in _TYPES] if isinstance(said, list) else []
    return {"type": names} if names else {}


def _python_type(text: str) -> tuple[dict[str, Any], bool]:
    """Return the schema of `int`, `str, optional`, `List[Union[int, float]]`, and whether it may be left out."""
    first, *rest = _top_level(text)
    optional = any("optional" in part.lower() or "default" in part.lower() for part in rest)
    base, bracket, inner = first.strip().partition("[")
    name = base.strip().rpartition(".")[2].lower()
    inside = _top_level(inner.rstrip().removesuffix("]")) if bracket else []
    if name == "optional" and inside:
        return _python_type(inside[0])[0], True
    if name == "union" and inside:
        return _union([_python_type(part)[0] for part in inside]), optional
    kind = _TYPES.get(name)
    if kind == "array" and inside and (name != "tuple" or len(inside) == 1):
        items = _python_type(inside[0])[0]
        return ({"type": kind, "items": items} if items else {"type": kind}), optional
    return ({"type": kind} if kind else {}), optional


def _union(members: list[dict[str, Any]]) -> dict[str, Any]:
    kinds = [member.get("type") for member in members]
    if any(not isinstance(kind, str) for kind in kinds):
        return {}
    return {"type": list(dict.fromkeys(kinds))}


def _top_level(text: str) -> list[str]:
    """Return what stands between the commas outside brackets."""
    parts, depth, start = list[str](), 0, 0
    for at, char in enumerate(text):
        depth += (char in "[(") - (char in "])")
        if char == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
