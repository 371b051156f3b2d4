"""Tasks and trajectories made by hand, for tests: gold chains, and what one can do wrong with them."""
from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from BFCL.check.flow import scalars
from environment.core.calls import ParseStatus, ResultStatus, ToolCall, ToolResult
from environment.core.schema import ToolSchema
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import Observed, StopReason, Trajectory

OK, MISS, INVALID = ResultStatus.OK, ResultStatus.MISS, ResultStatus.INVALID_ARGUMENTS
ERROR = {"error": "nothing there"}


@dataclass(frozen=True)
class Move:
    """One call and its answer; `turn` None means the next turn."""

    name: str
    arguments: dict[str, Any]
    value: Any = None
    status: ResultStatus = OK
    parse: ParseStatus = ParseStatus.OK
    joined: bool = False
    """In the same turn as the move before."""


def play(moves: Iterable[Move], stop: StopReason = StopReason.ANSWER, raw: str | None = None) -> Trajectory:
    """Return the trajectory of these moves, as a session records it; `raw` replaces the text of every call."""
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    ledger: list[Observed] = []
    messages: list[dict[str, Any]] = [{"role": "user", "content": "do it"}]
    turn, position = -1, 0
    for move in moves:
        turn, position = (turn, position + 1) if move.joined and turn >= 0 else (turn + 1, 0)
        text = json.dumps({"name": move.name, "arguments": move.arguments}) if raw is None else raw
        call = ToolCall(f"t{turn}c{position}", turn, move.name, move.arguments, text, move.parse)
        value = move.value if move.status == OK else ERROR
        calls.append(call)
        results.append(ToolResult(call.id, move.status, value, json.dumps(value)))
        messages.append({"role": "assistant", "content": f"<tool_call>{call.raw}</tool_call>"})
        messages.append({"role": "tool", "content": json.dumps(value)})
        ledger += [Observed(call.id, "x", v) for v in scalars(value)]
    answer = "done" if stop == StopReason.ANSWER else ""
    return Trajectory("t", tuple(messages), tuple(calls), tuple(results), tuple(ledger), stop, answer)


def gold_moves(task: Task, responses: list[Any]) -> list[Move]:
    """Return the moves of a perfect policy."""
    return [Move(s.function, copy.deepcopy(s.arguments), r) for s, r in zip(task.steps, responses, strict=True)]


def chain(length: int) -> tuple[Task, list[Any]]:
    """Return a task in which every step consumes an id of the step before, and its responses."""
    steps = [GoldStep("search", {"query": "Paris", "adults": 2})]
    for i in range(1, length):
        edge = Edge("item_id", i - 1, "items[0].id")
        steps.append(GoldStep(f"look_{i}", {"item_id": f"id-{i - 1}", "date": "2026-05-03"}, (i - 1,), (edge,)))
    responses = [{"items": [{"id": f"id-{i}"}]} for i in range(length)]
    return Task("t", "q", tuple(s.function for s in steps), tuple(steps)), responses


def fan(width: int) -> tuple[Task, list[Any]]:
    """Return a task of `width` independent searches with one tool and a last step that joins two of them."""
    steps = [GoldStep("search", {"query": f"town {i}"}) for i in range(width)]
    edges = (Edge("from_id", 0, "id"), Edge("to_id", width - 1, "id"))
    steps.append(GoldStep("travel", {"from_id": "x-0", "to_id": f"x-{width - 1}"}, (0, width - 1), edges))
    return Task("t", "q", ("search", "travel"), tuple(steps)), [{"id": f"x-{i}"} for i in range(width)] + [{"price": 3}]


def text_schema(name: str, *parameters: str) -> ToolSchema:
    """Return a tool of text parameters."""
    return ToolSchema(name, "", {"type": "object", "properties": {p: {"type": "string"} for p in parameters}})


def wrong_value(move: Move) -> Move:
    """Return the move with its first argument wrong, answered by a miss."""
    name = next(iter(move.arguments), "query")
    return replace(move, arguments={**move.arguments, name: "wrong-value"}, status=MISS)
