"""`World`: what an episode needs of the place it acts in."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from environment.core.calls import JsonValue, WorldAnswer
from environment.core.schema import ToolSchema


class World(Protocol):
    """Answers calls. A failing tool is an answer; an exception means the world itself is broken."""

    @property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """Every tool of this world by name."""
        ...

    def call(self, name: str, arguments: dict[str, JsonValue]) -> WorldAnswer:
        """Return the answer to a call whose name and arguments have been checked."""
        ...
