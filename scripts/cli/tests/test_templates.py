"""`tool-rl templates …` as a user types it: what it prints, and what it says when something is wrong."""
from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from typer.testing import CliRunner

from environment.core.errors import ToolRlError
from scripts.cli.app import app

OWN = """
patterns:
  - id: own
    domain: hotel
    picks: {which: [second]}
    steps:
      - {name: place, tool: Search_Hotel_Destination, give: {query: $city}}
      - name: stays
        tool: Search_Hotels
        give: {dest_id: "place.data[0].dest_id", search_type: "place.data[0].search_type",
               arrival_date: $check_in, departure_date: $check_out}
      - {name: rules, tool: Get_Hotel_Policies, give: {hotel_id: "stays.data.hotels[@which].hotel_id"}}
"""


def tool_rl(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["templates", *words])
    error = str(done.exception) if isinstance(done.exception, ToolRlError) else ""
    return done.exit_code, done.stdout, done.stderr + error


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    return path


def test_ls_lists_a_set() -> None:
    code, out, _ = tool_rl("ls")
    assert code == 0 and "hotels-taxi" in out and "hotel_policies" in out
    assert len(out.splitlines()) > 140
    code, out, _ = tool_rl("ls", "--set", "default")
    assert code == 0 and "hotels-taxi" not in out and "hotel_policies" in out
    code, _, told = tool_rl("ls", "--set", "al")
    assert code != 0 and "nearest   'all'" in told


def test_show_says_where_every_argument_comes_from() -> None:
    code, out, _ = tool_rl("show", "hotels-taxi", "--requests", "0")
    assert code == 0 and "query <- hotels.data.hotels[@hotel].name" in out and "the user: taxi_time" in out
    code, _, told = tool_rl("show", "hotels-taxy")
    assert code != 0 and "nearest   'hotels-taxi'" in told


def test_validate_passes_a_sound_file_and_shows_what_it_gives(own: Path) -> None:
    code, out, _ = tool_rl("validate", str(own), "--tries", "2")
    assert code == 0 and "own: 2 of 2 draws gave a row" in out and "1 sound, 0 problems" in out


def test_validate_names_what_is_wrong_and_fails(own: Path) -> None:
    own.write_text(OWN.replace("hotel_id: ", "hotel_idd: "))
    code, out, told = tool_rl("validate", str(own))
    assert code == 1 and "step rules" in told and "nearest   'hotel_id'" in told and "0 sound, 2 problems" in out


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"- 1", b"patterns: {", b"kinds: {}"])
def test_validate_of_something_else_is_one_message(own: Path, content: bytes) -> None:
    own.write_bytes(content)
    code, _, told = tool_rl("validate", str(own))
    assert code != 0 and str(own) in told
    code, _, told = tool_rl("validate", str(own.parent / "absent.yaml"))
    assert code != 0 and "no such set" in told
    code, _, told = tool_rl("validate", str(own.parent / "empty"))
    assert code != 0


def test_draw_writes_a_whole_picture_or_nothing(own: Path) -> None:
    out = own.parent / "own.svg"
    code, _, _ = tool_rl("draw", "own", "--set", str(own), "--out", str(out))
    assert code == 0 and ElementTree.fromstring(out.read_text()).tag.endswith("svg")
    code, text, _ = tool_rl("draw", "own", "--set", str(own))
    assert code == 0 and text == out.read_text()
    code, _, told = tool_rl("draw", "own", "--set", str(own), "--out", str(own.parent / "no" / "own.svg"))
    assert code != 0 and "can't write" in told
    assert sorted(path.name for path in own.parent.iterdir()) == ["own.svg", "own.yaml"]


def test_import_counts_edges(own: Path) -> None:
    shared = Path(os.environ.get("TOOL_RL_SHARED") or Path(__file__).parents[3].parent / "shared") / "data"
    if not (shared / "workflow_templates.json").is_file():
        pytest.skip(f"reference data not there: {shared}")
    out = own.parent / "imported.yaml"
    code, _, told = tool_rl("import", str(shared / "workflow_templates.json"), "--out", str(out))
    assert code == 0 and out.is_file()
    assert "107 workflows; edges by equal values: 526 stand, 18 were invented, 144 were missed" in told


def test_mine_reads_conversations_and_tells_what_is_none(own: Path) -> None:
    found = {"data": [{"id": "OSL.AIRPORT"}]}
    turns = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "function_call": [{"name": "Search_Flight_Location", "arguments": {"query": "Oslo"}}]},
        {"role": "observation", "content": [found]},
    ]
    talk = own.parent / "talk.jsonl"
    talk.write_text(json.dumps({"id": "a", "conversations": turns}) + "\n")
    code, out, told = tool_rl("mine", str(talk))
    assert code == 0 and "tool: Search_Flight_Location" in out and "1 workflows" in told
    code, _, told = tool_rl("mine", str(own))
    assert code != 0 and "line 2" in told
