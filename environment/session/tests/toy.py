"""A toy world of three tools, a toy format of calls, and tasks over them."""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall, WorldAnswer
from environment.core.dispatch import answer_call
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.validate import check_arguments
from environment.session.limits import Limits
from environment.session.session import Session
from environment.session.turns import AssistantTurn, ParsedTurn


def _tool(name: str, gives: dict[str, str], **properties: dict[str, Any]) -> ToolSchema:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSchema(name, f"{name} of the toy world", parameters, gives=gives)


SCHEMAS = {
    tool.name: tool
    for tool in (
        _tool("Find_City", {"data[].dest_id": "dest_id"}, query={"type": "string"}),
        _tool("Find_Hotels", {"data.hotels[].hotel_id": "hotel_id"}, dest_id={"type": "string"}),
        _tool("Get_Hotel", {}, hotel_id={"type": "integer"}),
        _tool("Not_On_Offer", {}, query={"type": "string"}),
    )
}
HOTELS = [{"hotel_id": 100 + i, "name": f"Hotel {i}", "note": "very quiet " * 30} for i in range(12)]


class ToyWorld:
    """Cities lead to hotels, hotels to details; `broken` makes every call raise."""

    def __init__(self, broken: Exception | None = None) -> None:
        self.schemas = SCHEMAS
        self.asked: list[tuple[str, dict[str, JsonValue]]] = []
        self._broken = broken

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        if self._broken:
            raise self._broken
        return answer_call(self.schemas, name, arguments, self._look_up)

    def _look_up(self, schema: ToolSchema, arguments: dict[str, JsonValue]) -> WorldAnswer | None:
        name = schema.name
        if check_arguments(schema, arguments):
            return None
        self.asked.append((name, arguments))
        if name == "Find_City":
            return WorldAnswer(ResultStatus.OK, {"data": [{"dest_id": "42", "name": arguments["query"]}]})
        if name == "Find_Hotels" and arguments["dest_id"] == "42":
            return WorldAnswer(ResultStatus.OK, {"data": {"hotels": HOTELS}})
        if name == "Get_Hotel":
            detail = {"hotel_id": arguments["hotel_id"], "score": 8.5, "pets": None}
            return WorldAnswer(ResultStatus.OK, {"data": detail})
        return None


TASK = Task(
    id="toy-1",
    query="Which hotel in Ghent is good?",
    tools=("Find_City", "Find_Hotels", "Get_Hotel"),
    steps=(
        GoldStep("Find_City", {"query": "Ghent"}),
        GoldStep("Find_Hotels", {"dest_id": "42"}, depends_on=(0,)),
        GoldStep("Get_Hotel", {"hotel_id": 100}, depends_on=(1,)),
    ),
    answer="Hotel 0 has 8.5.",
)


def toy_parser(text: str, turn: int) -> ParsedTurn:
    """Read a turn: each line that begins with `!` is a call, `!broken` an unreadable one."""
    calls: list[ToolCall] = []
    words: list[str] = []
    for line in text.splitlines():
        if not line.startswith("!"):
            words.append(line)
            continue
        name, _, arguments = line[1:].partition(" ")
        status = ParseStatus.MALFORMED_JSON if name == "broken" else ParseStatus.OK
        problem = "this is no call" if name == "broken" else None
        values: dict[str, JsonValue] = json.loads(arguments or "{}") if status is ParseStatus.OK else {}
        calls.append(ToolCall(f"t{turn}c{len(calls)}", turn, name, values, line, status, problem))
    return ParsedTurn(tuple(calls), " ".join(words))


def toy_session(world: ToyWorld | None = None, task: Task = TASK, **limits: Any) -> Session:
    return Session(task, world or ToyWorld(), SCHEMAS, Limits(**limits), toy_parser, seed=7)


def say(session: Session, text: str, tokens: int = 5, truncated: bool = False) -> list[JsonValue]:
    """Take a turn and return the observations as values."""
    return [json.loads(m["content"]) for m in session.step(AssistantTurn(text, tokens, truncated))]


CITY = '!Find_City {"query": "Ghent"}'
LIST = '!Find_Hotels {"dest_id": "42"}'
DETAIL = '!Get_Hotel {"hotel_id": 100}'
