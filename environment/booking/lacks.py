"""What a file of tool schemas lacks against another: a report for whoever brings their own."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from environment.core.errors import nearest_name
from environment.core.schema import ToolSchema

_RULES = (
    "enum", "default", "format", "minimum", "maximum", "minItems", "x-format", "x-free-text", "x-decimals", "x-after",
    "x-not-before",
)  # fmt: skip
"""Keywords that say what a value may be, or when two values are equal."""


@dataclass(frozen=True)
class Lack:
    """One thing that a tool of ours states and the other file does not."""

    tool: str
    kind: str
    """What sort of thing, for counting."""
    what: str


def lacks(theirs: Mapping[str, ToolSchema], ours: Mapping[str, ToolSchema]) -> Iterator[Lack]:
    """Yield what `theirs` lacks or states otherwise, tool by tool in the order of `ours`."""
    for name, schema in ours.items():
        if name in theirs:
            yield from _of_tool(theirs[name], schema)
        else:
            yield Lack(name, "tool", "missing")
    for name in theirs:
        if name not in ours:
            near = nearest_name(name, ours)
            yield Lack(name, "tool", "not one of ours" + (f", nearest {near}" if near else ""))


def counted(found: Sequence[Lack]) -> dict[str, int]:
    """Return kind → how many, most first."""
    return dict(Counter(lack.kind for lack in found).most_common())


def _of_tool(theirs: ToolSchema, ours: ToolSchema) -> Iterator[Lack]:
    name = ours.name
    yield from _of_object(name, "", theirs.parameters, ours.parameters)
    for path, port in ours.takes.items():
        if theirs.takes.get(path) != port:
            yield Lack(name, "port taken", f"{path} takes {port}")
    for path, port in ours.gives.items():
        if theirs.gives.get(path) != port:
            yield Lack(name, "port given", f"{path} gives {port}")
    if ours.response and not theirs.response:
        yield Lack(name, "response", "no shape to judge an answer by")
    if ours.group and not theirs.group:
        yield Lack(name, "group", f"belongs to {ours.group}")


def _of_object(tool: str, path: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[Lack]:
    known: Mapping[str, Any] = theirs.get("properties", {})
    stated: Mapping[str, Any] = ours.get("properties", {})
    for name, parameter in stated.items():
        if name in known:
            yield from _of_parameter(tool, path + name, known[name], parameter)
        else:
            yield Lack(tool, "parameter", f"{path}{name} is missing")
    for name in known:
        if name not in stated:
            yield Lack(tool, "parameter", f"{path}{name} is not one of ours")
    for name in sorted(set(ours.get("required", ())) ^ set(theirs.get("required", ()))):
        yield Lack(tool, "required", f"{path}{name} is required in one of the two only")


def _of_parameter(tool: str, path: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[Lack]:
    if theirs.get("type") != ours.get("type"):
        yield Lack(tool, "type", f"{path} is {theirs.get('type', 'untyped')}, ours {ours.get('type')}")
    for rule in _RULES:
        if rule in ours and theirs.get(rule) != ours[rule]:
            yield Lack(tool, rule.removeprefix("x-"), f"{path}: {rule} {ours[rule]}")
    if ours.get("type") == "object":
        yield from _of_object(tool, f"{path}.", theirs, ours)
    if ours.get("type") == "array":
        yield from _of_parameter(tool, f"{path}[]", theirs.get("items", {}), ours.get("items", {}))
