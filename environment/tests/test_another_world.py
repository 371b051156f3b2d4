"""Another world than the travel site, made in the five steps of the README: a unit converter with two tools."""
from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from environment.booking.schemas import load_schemas
from environment.cache.recording import RecordingWorld, seal
from environment.cache.store import CachedWorld
from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall, WorldAnswer
from environment.core.dispatch import answer_call
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.session import Session
from environment.session.turns import ParsedTurn

# Step 1: the tools, with ports that say what flows where.
TOOLS: list[dict[str, Any]] = [
    {
        "name": "List_Units",
        "description": "List the units of a quantity.",
        "parameters": {
            "type": "object",
            "properties": {"quantity": {"type": "string", "enum": ["length", "mass"]}},
            "required": ["quantity"],
        },
        "gives": {"units[].unit_id": "unit_id"},
    },
    {
        "name": "Convert",
        "description": "Convert a number from one unit to another.",
        "parameters": {
            "type": "object",
            "properties": {
                "value": {"type": "number"},
                "from_id": {"type": "string"},
                "to_id": {"type": "string"},
                "digits": {"type": "integer", "default": 3},
            },
            "required": ["value", "from_id", "to_id"],
        },
        "takes": {"from_id": "unit_id", "to_id": "unit_id"},
    },
]
UNITS = {"u-01": ("length", "metre", 1.0), "u-02": ("length", "foot", 0.3048), "u-11": ("mass", "gram", 1.0)}


# Step 2: the look-up. Everything else about a call is `answer_call`'s.
class Converter:
    """Answers from a table of units."""

    def __init__(self, schemas: Mapping[str, ToolSchema]) -> None:
        self.schemas = schemas

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        return answer_call(self.schemas, name, arguments, self._look_up)

    def _look_up(self, schema: ToolSchema, arguments: dict[str, JsonValue]) -> WorldAnswer | None:
        if schema.name == "List_Units":
            found = [{"unit_id": u, "name": n} for u, (q, n, _) in UNITS.items() if q == arguments.get("quantity")]
            return WorldAnswer(ResultStatus.OK, {"units": found}) if found else None
        source, target = (UNITS.get(str(arguments.get(side))) for side in ("from_id", "to_id"))
        value = arguments.get("value")
        if source is None or target is None or source[0] != target[0] or not isinstance(value, int | float):
            return None
        result = round(value * source[2] / target[2], arguments.get("digits", 3))
        return WorldAnswer(ResultStatus.OK, {"result": result})


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "units.json"
    path.write_text(json.dumps(TOOLS), encoding="utf-8")
    return path


def parse(text: str, turn: int) -> ParsedTurn:
    if not text.startswith("{"):
        return ParsedTurn((), text)
    row = json.loads(text)
    return ParsedTurn((ToolCall(f"t{turn}c0", turn, row["name"], row["arguments"], text, ParseStatus.OK),), "")


def call(name: str, **arguments: Any) -> str:
    return json.dumps({"name": name, "arguments": arguments})


# Steps 3 to 5: record it, seal it, let episodes run on the recorded file with a task of its tools.
async def test_five_steps_to_another_world(tools: Path, tmp_path: Path) -> None:
    schemas = load_schemas(tools)
    with RecordingWorld(tmp_path / "journal.db", Converter(schemas), provenance="unit table") as world:
        world.call("List_Units", {"quantity": "length"})
        world.call("Convert", {"value": 3, "from_id": "u-02", "to_id": "u-01"})
    report = seal(tmp_path / "journal.db", tmp_path / "world.db", schemas)
    assert report.by_tool == {"Convert": 1, "List_Units": 1}
    task = Task(
        "feet", "How many metres are 3 feet?", ("List_Units", "Convert"),
        (GoldStep("List_Units", {"quantity": "length"}), GoldStep("Convert", {"value": 3, "from_id": "u-02"}, (0,))),
    )  # fmt: skip
    turns = [
        call("List_Units", quantity="LENGTH"),
        call("Convert", value="3.0", from_id="u-02", to_id="u-01", digits=3),
        call("Convert", value=3, from_id="u-02"),
        call("Convrt", value=3),
        "It is 0.914 metres.",
    ]
    with CachedWorld.open(tmp_path / "world.db", schemas) as recorded:
        found = await drive(ScriptPolicy(turns), Session(task, recorded, schemas, Limits(), parse))
    assert [str(r.status) for r in found.results] == ["ok", "ok", "invalid_arguments", "unknown_tool"]
    assert found.results[1].value == {"result": 0.914}, "equal in canonical form, so the recorded answer"
    assert "to_id is missing" in found.results[2].text and "Convert" in found.results[3].text
    assert ("units[1].unit_id", "u-02") in [(seen.field, seen.value) for seen in found.ledger]
    assert found.answer == "It is 0.914 metres."
