"""Templates out of what others have: edges by ports, whatever equal values suggest."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from data_synthesis.drafts import as_yaml, read_conversations, read_workflows
from data_synthesis.ports import Called, EdgeCount, Link, count, link
from data_synthesis.templates.load import every_problem
from environment.booking.schemas import load_schemas
from environment.core.errors import DataError

SCHEMAS = load_schemas()
STAY = {"arrival_date": "2026-05-01", "departure_date": "2026-05-03"}


def hotels(**claimed: Link) -> list[Called]:
    return [
        Called("Search_Hotel_Destination", {"query": "Oslo"}),
        Called("Search_Hotels", {"dest_id": "-27", "search_type": "city", "adults": 2, **STAY}, claimed),
        Called("Get_Hotel_Policies", {"hotel_id": "10"}, {"hotel_id": Link(1, "data.hotels[2].hotel_id")}),
    ]


def test_an_edge_without_ports_is_invented_and_one_without_equal_types_is_missed() -> None:
    calls = hotels(search_type=Link(0, "data[0].search_type"), adults=Link(0, "data[4].count"))
    linked = link(calls, SCHEMAS)
    assert linked[1] == {"dest_id": Link(0, "data[0].dest_id"), "search_type": Link(0, "data[0].search_type")}
    assert linked[2] == {"hotel_id": Link(1, "data.hotels[2].hotel_id")}
    assert count(calls, linked) == EdgeCount(kept=2, invented=1, missed=1)


def test_a_date_the_user_said_before_is_no_edge_and_one_he_did_not_say_is() -> None:
    calls = hotels(search_type=Link(0, "data[0].search_type"))
    claimed = {"pick_up_date": Link(1, "data.hotels[0].property.checkoutDate")}
    said, other = (Called("Search_Taxi", {"pick_up_date": day}, claimed) for day in ("2026-05-03", "2026-05-09"))
    assert link([*calls, said], SCHEMAS)[3] == {}
    assert link([*calls, other], SCHEMAS)[3] == claimed


def test_legs_are_linked_to_the_look_ups_their_codes_begin() -> None:
    names = ("Chicago", "Berlin", "Tokyo")
    looked_up = [Called("Search_Flight_Location", {"query": name}) for name in names]
    legs = [{"fromId": "BER.AIRPORT", "toId": "TOK.CITY", "date": "2026-05-01"}]
    found = link([*looked_up, Called("Search_Flights_Multi_Stops", {"legs": legs})], SCHEMAS)[3]
    assert {path: edge.producer for path, edge in found.items()} == {"legs[0].fromId": 1, "legs[0].toId": 2}


def test_a_point_comes_from_one_place() -> None:
    calls = [
        Called("Location_to_Lat_Long", {"query": "Oslo"}),
        Called("Location_to_Lat_Long", {"query": "Rome"}),
        Called("Get_Nearby_Cities", {"latitude": "59.9", "longitude": "10.7"}),
    ]
    found = link(calls, SCHEMAS)[2]
    assert len({edge.producer for edge in found.values()}) == 1 and len(found) == 2


def test_a_hotel_found_by_name_passes_for_a_hotel() -> None:
    calls = [
        Called("Search_Hotel_Destination", {"query": "Amber Crown"}),
        Called("Get_Hotel_Policies", {"hotel_id": 7}, {"hotel_id": Link(0, "data[0].dest_id")}),
    ]
    assert link(calls, SCHEMAS)[1] == {"hotel_id": Link(0, "data[0].dest_id")}


def conversation(name: str, **more: Any) -> dict[str, Any]:
    pages = [{"name": tool, "arguments": {"hotel_id": "11"}} for tool in more.get("pages", ())]
    found = {"status": True, "data": [{"dest_id": "-27", "search_type": "city", "nr": 2}]}
    listed = {"status": True, "data": {"hotels": [{"hotel_id": 10}, {"hotel_id": 11}]}}
    turns = [
        ("user", {"content": "Hotels in Oslo, please."}),
        ("assistant", {"function_call": [{"name": "Search_Hotel_Destination", "arguments": {"query": "Oslo"}}]}),
        ("observation", {"content": [found]}),
        ("assistant", {"function_call": [
            {"name": "Search_Hotels", "arguments": {"dest_id": -27, "search_type": "city", "adults": 2, **STAY}}]}),
        ("observation", {"content": [listed]}),
        ("assistant", {"function_call": pages}),
        ("observation", {"content": [{"data": {"x": 1}} for _ in pages]}),
        ("assistant", {"content": "Done."}),
    ]  # fmt: skip
    return {"id": name, "conversations": [{"role": role, **what} for role, what in turns]}


def lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_mining_joins_across_types_keeps_turns_and_counts_what_equal_values_would_do(tmp_path: Path) -> None:
    pages = ("Get_Hotel_Policies", "Get_Hotel_Review_Scores")
    rows = [conversation("a", pages=pages), conversation("b", pages=pages), conversation("c", pages=pages[:1])]
    often, once = read_conversations(lines(tmp_path / "talk.jsonl", rows), SCHEMAS)
    assert (often.times, once.times) == (2, 1)
    assert often.links[1]["dest_id"] == Link(0, "data[0].dest_id")
    assert {links["hotel_id"].field for links in often.links[2:]} == {"data.hotels[1].hotel_id"}
    assert [call.level for call in often.calls][2:] == [6, 6]
    # by equal values: search_type is found, adults comes from `nr`, the ids of another type are lost; twice over
    assert often.edges == EdgeCount(kept=2, invented=2, missed=6)


def test_what_was_mined_is_a_template_of_ours(tmp_path: Path) -> None:
    talk = lines(tmp_path / "t.jsonl", [conversation("a", pages=("Get_Hotel_Policies",))])
    drafts = read_conversations(talk, SCHEMAS)
    (tmp_path / "mined.yaml").write_text(as_yaml(drafts, SCHEMAS))
    sound, wrong = every_problem(SCHEMAS, tmp_path / "mined.yaml")
    assert not wrong and [step.tool for step in sound[0].steps][2] == "Get_Hotel_Policies"
    assert sound[0].picks == {"pick_1_2": ("second",)}


def test_everything_imported_from_the_reference_is_a_template_of_ours(reference: Path, tmp_path: Path) -> None:
    drafts = read_workflows(reference / "workflow_templates.json", SCHEMAS)
    (tmp_path / "imported.yaml").write_text(as_yaml(drafts, SCHEMAS))
    sound, wrong = every_problem(SCHEMAS, tmp_path / "imported.yaml")
    assert len(drafts) == 107 and len(sound) + len({str(w.where).split(" step")[0] for w in wrong}) == 107
    assert len(sound) >= 95
    rows = yaml.safe_load((tmp_path / "imported.yaml").read_text())["patterns"]
    assert [row["id"] for row in rows] == [draft.name for draft in drafts]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "empty"),
        ("[1]", "not an object"),
        ("{nonsense", "no JSON"),
        ('{"workflows": []}', "no workflows"),
        ('{"workflows": [{"id": "w", "dependencies": {"0": {"function": "Serch_Hotels"}}}]}', "'Search_Hotels'"),
        ('{"workflows": [{"id": "w", "dependencies": [1]}]}', "w: not an object"),
    ],
)
def test_a_file_of_workflows_that_is_none_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(DataError, match=told):
        read_workflows(tmp_path / "w.json", SCHEMAS)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no conversation with calls"),
        ("{", "line 1: no JSON"),
        ('{"id": "a"}', "line 1: no conversation"),
        ('{"id": "a", "conversations": [{"role": "assistant", "function_call": [{"name": "Nope"}]},'
         ' {"role": "observation", "content": [1]}]}', "unknown tool"),
    ],
)  # fmt: skip
def test_conversations_that_are_none_are_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "c.jsonl").write_text(text)
    with pytest.raises(DataError, match=told):
        read_conversations(tmp_path / "c.jsonl", SCHEMAS)
    with pytest.raises(DataError, match="no such file"):
        read_conversations(tmp_path / "absent.jsonl", SCHEMAS)
