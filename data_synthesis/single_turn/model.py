"""The types of the preparation: a call, a row on its way, and why a row was dropped."""
from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from environment.core.calls import JsonValue
from environment.core.schema import ToolSchema


class Step(StrEnum):
    """The steps, in order; a row is dropped by one of them or written."""

    READ = "read"
    PARSE = "parse"
    SCHEMA = "schema"
    UNIQUE = "unique"
    JUDGE = "judge"
    REPAIR = "repair"
    SECOND = "second judge"
    DISTINCT = "distinct"
    AGAINST = "against"


class Drop(Exception):
    """A row that can't be used; `reason` is one of few words to count by, `detail` says what and where."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True)
class Call:
    """One call of an answer; arguments are plain JSON values in the order given."""

    name: str
    arguments: dict[str, JsonValue]

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"name": self.name, "arguments": self.arguments}


@dataclass(frozen=True)
class Item:
    """A row with everything read out of its texts."""

    where: str
    """File and place of the row."""
    id: str
    query: str
    tools: tuple[ToolSchema, ...]
    calls: tuple[Call, ...]
    repairs: tuple[str, ...] = ()
    """What was changed, in words."""

    def tool(self, name: str) -> ToolSchema | None:
        """Return the tool of that name."""
        return next((tool for tool in self.tools if tool.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """Return the row as it is written."""
        tools = [tool.as_openai()["function"] for tool in self.tools]
        answers = [call.to_json() for call in self.calls]
        return {"id": self.id, "query": self.query, "tools": tools, "answers": answers, "repairs": list(self.repairs)}


@dataclass(frozen=True)
class Dropped:
    """A row that is left out."""

    where: str
    id: str
    step: Step
    reason: str
    detail: str
