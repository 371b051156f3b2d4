"""`ToolSchema`: a tool as JSON Schema plus ports, the kinds of value it takes and gives.

A port names a kind of value, such as `hotel_id` or `date`. `takes["hotel_id"] == "hotel_id"` says which
kind a parameter wants (nested paths as in `legs[].fromId`), `gives["data.hotels[].hotel_id"] == "hotel_id"`
where a response carries one. Every data dependency between two tools follows from their ports.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast


@dataclass(frozen=True)
class ToolSchema:
    """One tool. `parameters` is a JSON Schema of type object; the mappings are never mutated."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    group: str = ""
    """Family of the tool: hotel, flight, car, attraction, taxi or meta for BookingAPI."""
    takes: Mapping[str, str] = field(default_factory=dict[str, str])
    """Parameter path → port."""
    gives: Mapping[str, str] = field(default_factory=dict[str, str])
    """Response path → port; `[]` stands for any item of a list, `[key=value]` for those of which that holds."""
    response: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Shape of an answer as JSON Schema: what must be there, open to more; empty where none is stated."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Parameter name → its JSON Schema, in the order of the schema file."""
        return self.parameters.get("properties", {})

    @property
    def required(self) -> tuple[str, ...]:
        """Names of the parameters a call must give."""
        return tuple(self.parameters.get("required", ()))

    def as_openai(self) -> dict[str, Any]:
        """Return the tool as an OpenAI function object, as chat templates and endpoints take it.

        The keywords beginning with `x-` stay behind: they steer comparison and checks, not a model.
        """
        function = {"name": self.name, "description": self.description, "parameters": _public(self.parameters)}
        return {"type": "function", "function": function}


def _public(schema: object) -> Any:
    if isinstance(schema, Mapping):
        pairs = cast("Mapping[str, object]", schema).items()
        return {name: _public(value) for name, value in pairs if not name.startswith("x-")}
    if isinstance(schema, list | tuple):
        return [_public(item) for item in cast("list[object]", schema)]
    return schema
