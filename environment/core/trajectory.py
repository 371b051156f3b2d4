"""`Trajectory`: all that happened in one rollout, as data. Rewards and metrics read this, never decoded text."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any

from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall, ToolResult

TRAJECTORY_VERSION = 1
"""Version of the JSON form of a trajectory."""


class StopReason(StrEnum):
    """Why an episode ended."""

    ANSWER = "answer"
    """The assistant wrote a turn without a call."""
    MAX_TURNS = "max_turns"
    MAX_CALLS = "max_calls"
    MAX_TOKENS = "max_tokens"
    """The token budget of the episode is used up, or a turn was cut at its token limit."""
    MAX_SECONDS = "max_seconds"
    MAX_INVALID = "max_invalid"
    """Too many unreadable calls in a row."""
    INFRASTRUCTURE = "infrastructure"
    """The policy or the world failed; never the model's fault and never scored as wrong."""


@dataclass(frozen=True)
class Observed:
    """One value the model has seen: `value` stood at `field` of the result of call `call_id`."""

    call_id: str
    field: str
    value: JsonValue


@dataclass(frozen=True)
class TokenSpan:
    """Tokens [start, end) of the response belong to assistant turn `turn`."""

    turn: int
    start: int
    end: int


@dataclass(frozen=True)
class Trajectory:
    """One rollout of one task."""

    task_id: str
    messages: tuple[dict[str, JsonValue], ...]
    """Chat messages in order: system, user, then assistant (`content` as written) and tool turns."""
    calls: tuple[ToolCall, ...]
    results: tuple[ToolResult, ...]
    """One result a call, in the order of `calls`."""
    ledger: tuple[Observed, ...]
    """Every scalar the model saw in a result, in order."""
    stop: StopReason
    answer: str = ""
    """Text of the closing assistant turn; empty unless `stop` is `answer`."""
    seed: int | None = None
    error: str | None = None
    """What failed, when `stop` is `infrastructure`."""
    spans: tuple[TokenSpan, ...] = ()
    meta: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Free facts: policy, rollout index, step, seconds, token counts."""

    def result_of(self, call_id: str) -> ToolResult:
        """Return the result of a call of this trajectory; KeyError for a foreign id."""
        for result in self.results:
            if result.call_id == call_id:
                return result
        raise KeyError(call_id)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; `from_json` reads it back. The values of results are the trajectory's own."""
        row = {name: getattr(self, name) for name in _FIELDS}
        parts: dict[str, tuple[object, ...]] = {
            "calls": self.calls, "results": self.results, "ledger": self.ledger, "spans": self.spans,
        }  # fmt: skip
        nested = {name: [dict(vars(part)) for part in each] for name, each in parts.items()}
        copied = {"messages": list(self.messages), "meta": dict(self.meta)}
        return {"version": TRAJECTORY_VERSION, **row, **copied, **nested}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Trajectory:
        """Build a trajectory from what `to_json` wrote."""
        calls = tuple(_call(c) for c in row["calls"])
        results = tuple(_result(r) for r in row["results"])
        return cls(
            task_id=row["task_id"],
            messages=tuple(row["messages"]),
            calls=calls,
            results=results,
            ledger=tuple(Observed(**o) for o in row["ledger"]),
            stop=StopReason(row["stop"]),
            answer=row.get("answer", ""),
            seed=row.get("seed"),
            error=row.get("error"),
            spans=tuple(TokenSpan(**s) for s in row.get("spans", ())),
            meta=dict(row.get("meta", {})),
        )


_FIELDS = tuple(each.name for each in fields(Trajectory))


def _call(row: Mapping[str, Any]) -> ToolCall:
    fields: dict[str, Any] = {**row, "status": ParseStatus(row["status"])}
    return ToolCall(**fields)


def _result(row: Mapping[str, Any]) -> ToolResult:
    fields: dict[str, Any] = {**row, "status": ResultStatus(row["status"])}
    return ToolResult(**fields)
