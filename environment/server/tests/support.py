"""A parser, a task and a world for tests of the server."""
from __future__ import annotations

import json
from typing import Any

from environment.booking.seed_world import SeedWorld, WorldSize
from environment.core.calls import ParseStatus, ToolCall
from environment.core.task import GoldStep, Task
from environment.session.turns import ParsedTurn

WORLD = SeedWorld(3, WorldSize(cities=6, hotels=2, attractions=1, cars=1, destinations=1, dates=2))
CITY = WORLD.facts.places[0].city
TOOL = "Search_Hotel_Destination"
TASK = Task("t-1", f"Find {CITY}.", (TOOL, "Search_Hotels"), (GoldStep(TOOL, {"query": CITY}),))


def parse(text: str, turn: int) -> ParsedTurn:
    """Read lines `CALL {"name": …, "arguments": …}`; a line that is no JSON is a malformed call."""
    calls: list[ToolCall] = []
    words: list[str] = []
    for line in text.splitlines():
        if not line.startswith("CALL "):
            words.append(line)
            continue
        arguments: dict[str, Any] = {}
        name, status = "", ParseStatus.MALFORMED_JSON
        try:
            row: dict[str, Any] = json.loads(line[5:])
            name, arguments, status = row["name"], row["arguments"], ParseStatus.OK
        except (ValueError, KeyError):
            pass
        calls.append(ToolCall(f"t{turn}c{len(calls)}", turn, name, arguments, line[5:], status, "unreadable"))
    return ParsedTurn(tuple(calls), "\n".join(words))


def call(name: str = TOOL, **arguments: Any) -> str:
    return "CALL " + json.dumps({"name": name, "arguments": arguments})
