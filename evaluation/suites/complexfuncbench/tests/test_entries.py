"""Reading the benchmark's file: what is there is read as it is, what can't be judged is refused by line."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.errors import DataError
from evaluation.suites.complexfuncbench.entries import read_entries
from evaluation.suites.complexfuncbench.tests.support import (
    chain,
    find,
    make_row,
    pair,
    place,
    rows,
    stay,
    stays,
    write,
)


def test_an_entry_has_its_calls_by_turn_with_their_answers(tmp_path: Path) -> None:
    entry = read_entries(write(tmp_path, [pair("Cross-3", "Graz", "Turku")]))[0]
    assert (entry.id, entry.domain, entry.turns, len(entry.calls)) == ("Cross-3", "Cross", 2, 4)
    assert [c.turn for c in entry.calls] == [0, 0, 1, 1]
    assert [c.response for c in entry.calls] == [place("Graz"), place("Turku"), stays("Graz"), stays("Turku")]
    assert [f["function"]["name"] for f in entry.tools()][:2] == ["Search_Hotel_Destination", "Search_Hotels"]
    assert entry.answer == "Booked, Cross-3."


def test_the_limit_takes_the_first_entries_and_looks_no_further(tmp_path: Path) -> None:
    path = write(tmp_path, [*rows()[:2], "not JSON at all"])
    assert [e.id for e in read_entries(path, 2)] == ["Hotels-1", "Hotels-2"]


def test_a_bom_blank_lines_and_windows_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "cfb.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(rows()[0]).encode() + b"\r\n\r\n" + json.dumps(rows()[1]).encode())
    assert [e.id for e in read_entries(path)] == ["Hotels-1", "Hotels-2"]


def test_an_observation_that_is_not_there_stays_unknown(tmp_path: Path) -> None:
    row = chain("Hotels-1", "Lisbon")
    row["conversations"][2]["content"] = []
    row["conversations"][4]["content"] = [""]
    assert [c.response for c in read_entries(write(tmp_path, [row]))[0].calls] == [None, None]


def test_tools_we_know_are_compared_by_our_schema_and_others_by_theirs(tmp_path: Path) -> None:
    row = chain("Hotels-1", "Lisbon")
    own = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    row["functions"].append({"name": "Fly_Kite", "description": "", "parameters": own})
    other = {"type": "object", "properties": {"wings": {"type": "string"}}}
    row["functions"][3] = {"name": "Search_Taxi", "description": "", "parameters": other}
    entry = read_entries(write(tmp_path, [row]))[0]
    assert entry.key("Search_Hotels", {"dest_id": 4000}) == entry.key("Search_Hotels", {"dest_id": "4000"})
    assert entry.key("Fly_Kite", {"x": "2"}) == entry.key("Fly_Kite", {"x": 2.0})
    assert set(entry.schemas["Search_Taxi"].properties) == {"wings"}


def _without(row: dict[str, Any], name: str) -> dict[str, Any]:
    return {k: v for k, v in row.items() if k != name}


def _no_gold() -> dict[str, Any]:
    row = chain("Hotels-1", "Lisbon")
    return {**row, "conversations": [row["conversations"][0], row["conversations"][-1]]}


def _empty_calls() -> dict[str, Any]:
    row = chain("Hotels-1", "Lisbon")
    for turn in row["conversations"]:
        if "function_call" in turn:
            turn["function_call"] = []
    return row


def _without_user() -> dict[str, Any]:
    row = chain("Hotels-1", "Lisbon")
    return {**row, "conversations": row["conversations"][1:]}


BAD = [
    ("{", "not JSON"),
    ("[1, 2]", "valid dictionary"),
    ('{"id": "x"}', "functions"),
    (_without(rows()[0], "id"), "id: Field required"),
    ({**rows()[0], "id": ""}, "id"),
    ({**rows()[0], "id": 7}, "id"),
    ({**rows()[0], "functions": []}, "functions"),
    ({**rows()[0], "functions": [{"description": "nameless", "parameters": {}}]}, "name"),
    ({**rows()[0], "conversations": "hello"}, "conversations"),
    ({**rows()[0], "functions": rows()[0]["functions"][2:]}, "isn't on offer"),
    (_no_gold(), "no gold call"),
    (_empty_calls(), "no gold call"),
    (_without_user(), "no user turn"),
    ("[" * 100_000, "not JSON"),
]


@pytest.mark.parametrize(("line", "said"), BAD, ids=range(len(BAD)))
def test_a_line_that_can_not_be_judged_is_refused_by_its_number(tmp_path: Path, line: Any, said: str) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read_entries(write(tmp_path, [rows()[1], line]))
    assert "line 2" in str(caught.value) and "cfb.jsonl" in str(caught.value)


def test_all_bad_lines_are_counted_and_the_first_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        read_entries(write(tmp_path, ["{"] * 9))
    assert "9 entries can't be used" in str(caught.value) and "and 4 more" in str(caught.value)


def test_the_same_id_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the same id twice"):
        read_entries(write(tmp_path, [rows()[0], rows()[0]]))


@pytest.mark.parametrize("make", [lambda p: p / "none.jsonl", lambda p: p, lambda p: write(p, [])])
def test_no_file_a_folder_and_an_empty_file_are_said_in_words(tmp_path: Path, make: Any) -> None:
    with pytest.raises(DataError):
        read_entries(make(tmp_path))


KEYS = st.sampled_from(("id", "functions", "conversations", "role", "content", "function_call", "name", "arguments"))
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
JSON = st.recursive(LEAVES, lambda c: st.lists(c, max_size=3) | st.dictionaries(KEYS, c, max_size=4), max_leaves=12)


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_no_line_makes_the_reader_fail_otherwise(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path = write(tmp_path_factory.getbasetemp(), [value])
    with pytest.raises(DataError):
        read_entries(path)


def test_hostile_ids_are_texts_like_any_other(tmp_path: Path) -> None:
    names = ["../../etc/passwd-1", "\x1b[31mred-2", "<script>-3", "a" * 500, "nul\x00-4"]
    made = [make_row(n, [find("Lisbon"), stay("Lisbon", 0)], [place("Lisbon"), stays("Lisbon")]) for n in names]
    assert [e.id for e in read_entries(write(tmp_path, made))] == names
