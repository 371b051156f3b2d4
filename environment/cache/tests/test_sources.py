"""What others have recorded: every usable row comes through, every other one is named, memory stays flat."""
from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.cache.build import import_rows
from environment.cache.json_stream import read_array, read_lists
from environment.cache.sources import Recorded, Unusable, read_source
from environment.cache.store import CachedWorld
from environment.core.calls import ResultStatus
from environment.core.errors import DataError

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def write(path: Path, *lines: Any) -> Path:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text(text, encoding="utf-8")
    return path


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.lists(json_values, max_size=4), max_size=4), st.integers(1, 9))
def test_any_object_of_lists_is_read_as_json_reads_it(tmp_path_factory: Any, lists: Any, window: int) -> None:
    folder = tmp_path_factory.mktemp("stream")
    for text in (json.dumps(lists), json.dumps(lists, indent=2, ensure_ascii=False)):
        path = folder / "x.json"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if any(0xD800 <= ord(c) <= 0xDFFF for c in text):
            continue
        got: dict[str, list[Any]] = {}
        for item in read_lists(path, window):
            assert item.number == len(got.setdefault(item.name, []))
            got[item.name].append(item.value)
        assert got == {name: items for name, items in lists.items() if items}


@pytest.mark.parametrize(
    ("text", "before", "said"),
    [
        ('{"A": [1, 2, oops, 4]}', 2, "item 2 of 'A'"),
        ('{"A": [1, {"b": NaN}]}', 1, "NaN"),
        ('{"A": [1, "never closed', 1, "Unterminated string"),
        ('{"A": [1, 2]', 2, "expected '}'"),
        ('{"A": [1]} {"B": []}', 1, "after the end"),
        ('{"A": {"b": 1}}', 0, "expected '['"),
        ("[1, 2]", 0, "expected '{'"),
        ("", 0, "the end of the file"),
        ('{"A": [' + "[" * 100_000, 0, "nested too deeply"),
    ],
)
def test_a_broken_file_names_the_place_after_what_was_whole(tmp_path: Path, text: str, before: int, said: str) -> None:
    read = read_lists(write(tmp_path / "x.json", text), window=8)
    got: list[Any] = []
    with pytest.raises(DataError) as caught:
        got.extend(read)
    assert said in str(caught.value) and str(tmp_path / "x.json") in str(caught.value)
    got = list_until_error(tmp_path / "x.json")
    assert len(got) == before


def list_until_error(path: Path) -> list[Any]:
    got: list[Any] = []
    try:
        for item in read_lists(path, window=8):
            got.append(item.value)
    except DataError:
        pass
    return got


def test_a_bad_item_of_a_large_file_is_found_at_once_not_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("w") as file:
        file.write('{"A": [{"a" 1}')
        file.writelines(',{"a": "' + "x" * 1000 + '"}' for _ in range(5000))
    tracemalloc.start()
    with pytest.raises(DataError, match="':' delimiter"):
        list(read_lists(path, 1 << 14))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("w") as file:
        file.write('{"A": [')
        file.writelines(f'{{"n": {n}, "text": "{"é" * 500}"}},' for n in range(6000))
        file.write("0]}")
    tracemalloc.start()
    assert sum(1 for _ in read_lists(path, 1 << 14)) == 6001
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


HOTEL = {"arguments": {"query": "Oslo"}, "response": {"data": [1]}}


def test_the_reference_cache_is_told_by_its_ending_and_bad_items_are_named(tmp_path: Path) -> None:
    items: list[Any] = [HOTEL, {"arguments": {}}, 7, {"arguments": [], "response": 1}]
    rows = list(read_source(write(tmp_path / "cache.json", {"Search_Hotel_Destination": items})))
    source = "cache.json Search_Hotel_Destination"
    assert rows[0] == Recorded("Search_Hotel_Destination", {"query": "Oslo"}, {"data": [1]}, source)
    assert [r.place for r in rows if isinstance(r, Unusable)] == [f"{source} item {n}" for n in (1, 2, 3)]


def turn(*names: str) -> dict[str, Any]:
    return {"role": "assistant", "function_call": [{"name": n, "arguments": {"query": n}} for n in names]}


def seen(*answers: Any) -> dict[str, Any]:
    return {"role": "observation", "content": list(answers)}


def test_complexfuncbench_pairs_calls_with_observations(tmp_path: Path) -> None:
    talk = [{"role": "user", "content": "?"}, turn("A", "B"), seen({"x": 1}, [2]), turn("C"), seen(), turn("D")]
    entry = {"id": "Hotels-1", "functions": [], "conversations": [*talk, {"role": "assistant", "content": "Done."}]}
    rows = list(read_source(write(tmp_path / "cfb.jsonl", entry, "{broken", {"other": 1}, "", entry)))
    used = [(r.tool, r.arguments, r.response, r.source) for r in rows if isinstance(r, Recorded)]
    assert used[:2] == [
        ("A", {"query": "A"}, {"x": 1}, "cfb.jsonl line 1 Hotels-1"),
        ("B", {"query": "B"}, [2], "cfb.jsonl line 1 Hotels-1"),
    ]
    assert len(used) == 4, "the entry after the broken lines is read"
    bad = [r for r in rows if isinstance(r, Unusable)]
    assert [r.place.split(":")[0] for r in bad[:3]] == ["cfb.jsonl line 1 Hotels-1 turn 4", "cfb.jsonl line 2",
                                                       "cfb.jsonl line 3"]  # fmt: skip
    assert bad[0].reason == "1 calls but 0 observations"


def test_rows_become_a_world_and_a_second_import_extends_it(tmp_path: Path) -> None:
    out = tmp_path / "w.db"
    rows = [
        Recorded("Search_Hotel_Destination", {"query": "Oslo"}, {"data": [1]}, "a"),
        Recorded("Search_Hotel_Destination", {"query": " OSLO"}, {"data": [2]}, "b"),
        Recorded("Serch_Hotels", {}, {}, "a"),
        Unusable("broken JSON", "a line 3"),
    ]
    report = import_rows(out, rows)
    assert report.entries == 1 and [(c.kept, c.refused) for c in report.conflicts] == [("a", "b")]
    assert report.skipped == {"unknown tool Serch_Hotels, nearest Search_Hotels": 1, "broken JSON": 1}
    assert report.examples["broken JSON"] == "a line 3"
    more = import_rows(out, [Recorded("Get_Hotel_Details", {"hotel_id": "5"}, {"error": "no"}, "c")], extend=True)
    assert more.entries == 2
    with CachedWorld.open(out) as world:
        assert world.call("Search_Hotel_Destination", {"query": "oslo"}).value == {"data": [1]}
        assert world.call("Get_Hotel_Details", {"hotel_id": "5"}).status is ResultStatus.UPSTREAM_ERROR


def test_a_source_that_breaks_off_leaves_the_world_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "w.db"
    import_rows(out, [Recorded("Search_Hotel_Destination", {"query": "Oslo"}, {"data": [1]}, "a")])
    before = out.read_bytes()
    text = json.dumps({"Search_Hotel_Destination": [HOTEL]})[:-1]
    with pytest.raises(DataError, match="broken JSON"):
        import_rows(out, read_source(write(tmp_path / "half.json", text)), extend=True)
    assert out.read_bytes() == before and [p.name for p in tmp_path.iterdir() if "partial" in p.name] == []


@given(st.lists(json_values, max_size=8), st.integers(1, 7))
def test_an_array_is_read_item_by_item_whatever_the_window(
    tmp_path_factory: pytest.TempPathFactory, items: list[Any], window: int
) -> None:
    file = tmp_path_factory.mktemp("array") / "rows.json"
    file.write_text(json.dumps(items, indent=1), encoding="utf-8-sig")
    assert list(read_array(file, window)) == items


BROKEN = [('[1, {"a": 2}', 2), ("[1, 2] 3", 2), ('{"a": 1}', 0), ("[1, nan]", 1), ("", 0)]


@pytest.mark.parametrize(("text", "read"), BROKEN)
def test_an_array_that_is_broken_gives_what_came_before_and_names_the_place(
    tmp_path: Path, text: str, read: int
) -> None:
    (tmp_path / "rows.json").write_text(text)
    found: list[Any] = []
    with pytest.raises(DataError, match=r"rows\.json, item"):
        for item in read_array(tmp_path / "rows.json"):
            found.append(item)
    assert len(found) == read
