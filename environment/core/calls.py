"""What a model asks for and what it gets back: `ToolCall` and `ToolResult`."""
from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

JsonValue = Any
"""A value as `json.loads` gives it: dict, list, str, int, float, bool or None."""


class ParseStatus(StrEnum):
    """How well a call could be read out of the model's text."""

    OK = "ok"
    MALFORMED_JSON = "malformed_json"
    """The body between the tags is not JSON."""
    MALFORMED = "malformed"
    """Not readable in its format, one that is no JSON (Python calls, XML)."""
    NOT_A_CALL = "not_a_call"
    """JSON, but no object with a string `name` and an object `arguments`."""
    UNCLOSED = "unclosed"
    """An opening tag without its closing tag."""


class ResultStatus(StrEnum):
    """What became of a call."""

    OK = "ok"
    MISS = "miss"
    """Valid, but nothing is recorded for it."""
    INVALID_ARGUMENTS = "invalid_arguments"
    UNKNOWN_TOOL = "unknown_tool"
    UPSTREAM_ERROR = "upstream_error"
    """The recorded or live service answered with an error."""
    TIMEOUT = "timeout"
    NOT_EXECUTED = "not_executed"
    """Unreadable, or beyond a limit of the episode."""


@dataclass(frozen=True)
class ToolCall:
    """One call as the model wrote it."""

    id: str
    """Unique within the trajectory, `t<turn>c<position>`."""
    turn: int
    """Assistant turn, from 0."""
    name: str
    """Empty where no name could be read."""
    arguments: dict[str, JsonValue]
    raw: str
    """The exact text of the block, without its tags."""
    status: ParseStatus = ParseStatus.OK
    problem: str | None = None
    """What was wrong with the text, in words for the model; None when `status` is ok."""


@dataclass(frozen=True)
class ToolResult:
    """The answer to one call."""

    call_id: str
    status: ResultStatus
    value: JsonValue
    """The whole value the world answered with; an `{"error": text}` object unless the status is ok."""
    text: str
    """What the model saw: `value` rendered and cut to the observation limit, always valid JSON."""


@dataclass(frozen=True)
class WorldAnswer:
    """What a world says to a call: a status and a value, not yet rendered for a model."""

    status: ResultStatus
    value: JsonValue = field(default=None)
