"""Small published-like sets, made up, for the tests of the preparation."""
from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WEATHER = {
    "name": "get_weather",
    "description": "Weather of a city.",
    "parameters": {
        "city": {"description": "City.", "type": "str"},
        "days": {"description": "Days ahead.", "type": "int, optional", "default": 1},
        "units": {"type": "str, optional", "default": "metric", "enum": ["metric", "imperial"]},
    },
}
CONVERT = {
    "name": "convert",
    "description": "Convert an amount of money.",
    "parameters": {
        "amount": {"description": "Amount.", "type": "float"},
        "source": {"description": "Currency.", "type": "str"},
        "target": {"description": "Currency.", "type": "str"},
    },
}
TOOLS = [WEATHER, CONVERT]


def xlam(number: int, query: str, *answers: tuple[str, dict[str, Any]], tools: object = None) -> dict[str, Any]:
    """Return a row in xlam's layout, its tools and answers as JSON text."""
    calls = [{"name": name, "arguments": arguments} for name, arguments in answers]
    return {"id": number, "query": query, "tools": json.dumps(tools or TOOLS), "answers": json.dumps(calls)}


def toolace(query: str, reply: str) -> dict[str, Any]:
    """Return a row in ToolACE's layout."""
    properties = {"city": {"type": "string"}, "days": {"type": "int"}}
    parameters = {"type": "dict", "properties": properties, "required": ["city"]}
    tools = [{"name": "City Weather", "description": "Weather.", "parameters": parameters, "required": None}]
    system = f"You have functions (see [1]), in JSON:\n{json.dumps(tools)}. \nAnswer with [func(name=value)]."
    turns = [{"from": "user", "value": query}, {"from": "assistant", "value": reply}]
    return {"system": system, "conversations": turns}


def weather(number: int, city: str, **more: Any) -> dict[str, Any]:
    """Return a sound row about the weather of a city."""
    days = f" for the next {more['days']} days" if "days" in more else ""
    query = f"Could you tell me what the weather will be like in {city}{days}, please? Trip number {number} needs it."
    return xlam(number, query, ("get_weather", {"city": city, **more}))


def write_lines(path: Path, rows: Sequence[dict[str, Any] | str]) -> Path:
    """Write rows, or lines as they stand, as JSON Lines."""
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return path
