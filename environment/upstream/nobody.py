"""`NoUpstream`: nobody is asked; what is not recorded is a miss."""
from __future__ import annotations

from collections.abc import Mapping

from environment.booking.schemas import load_schemas
from environment.core.calls import JsonValue, WorldAnswer
from environment.core.dispatch import answer_call
from environment.core.schema import ToolSchema


class NoUpstream:
    """Knows the tools and has no answers."""

    provenance = "none"
    stopped: str | None = None

    def __init__(self, schemas: Mapping[str, ToolSchema] | None = None) -> None:
        self.schemas: Mapping[str, ToolSchema] = schemas or load_schemas()

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return a miss, or what is wrong with the call."""
        return answer_call(self.schemas, name, arguments, lambda _schema, _canonical: None)
