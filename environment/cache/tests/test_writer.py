from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.booking.schemas import load_schemas
from environment.cache.layout import decode, encode
from environment.cache.store import CachedWorld
from environment.cache.writer import CacheWriter
from environment.core.calls import ResultStatus
from environment.core.errors import DataError, WorldError
from environment.core.tests.made import good_calls, json_values

SCHEMAS = load_schemas()
OK = ResultStatus.OK
TOOL = "Search_Hotel_Destination"


def record(path: Path, *answers: tuple[str, Any], start_from: Path | None = None) -> CacheWriter:
    with CacheWriter(path, SCHEMAS, start_from=start_from) as writer:
        for query, value in answers:
            writer.add(TOOL, {"query": query}, OK, value, f"from {value}")
    return writer


def test_a_call_has_one_answer_and_the_others_are_reported(tmp_path: Path) -> None:
    report = record(tmp_path / "w", ("Oslo", 1), (" OSLO", 1), ("oslo", 2), ("Riga", 3)).report
    assert (report.entries, report.duplicates, report.by_tool) == (2, 1, {TOOL: 2})
    (conflict,) = report.conflicts
    assert (conflict.tool, conflict.arguments) == (TOOL, {"query": "oslo"})
    assert (conflict.kept, conflict.refused) == ("from 1", "from 2")
    world = CachedWorld.open(tmp_path / "w")
    assert world.call(TOOL, {"query": "oslo"}).value == 1
    assert [a for a, _ in world.entries(TOOL)] == [{"query": "Oslo"}, {"query": "Riga"}]


def test_arguments_come_back_as_they_were_written(tmp_path: Path) -> None:
    written = {"toId": "B", "fromId": "A", "departDate": "2026/5/3", "adults": 1}
    with CacheWriter(tmp_path / "w", SCHEMAS) as writer:
        writer.add("Search_Flights", written, OK, {}, "x")
    ((arguments, _),) = CachedWorld.open(tmp_path / "w").entries("Search_Flights")
    assert list(arguments.items()) == list(written.items())


def test_equal_answers_in_another_order_of_names_are_no_conflict(tmp_path: Path) -> None:
    report = record(tmp_path / "w", ("Oslo", {"a": 1, "b": 2}), ("Oslo", {"b": 2, "a": 1})).report
    assert (report.duplicates, report.conflicts) == (1, ())


def test_nothing_is_written_when_the_block_fails(tmp_path: Path) -> None:
    record(tmp_path / "w", ("Oslo", 1))
    before = (tmp_path / "w").read_bytes()
    with pytest.raises(KeyError), CacheWriter(tmp_path / "w", SCHEMAS) as writer:
        writer.add(TOOL, {"query": "Riga"}, OK, 2, "x")
        raise KeyError
    assert (tmp_path / "w").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["w"]
    with pytest.raises(WorldError, match="not written"):
        assert writer.report


def test_a_world_without_entries_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(WorldError, match="nothing to write"):
        record(tmp_path / "w")
    assert not list(tmp_path.iterdir())


def test_extending_keeps_what_is_there(tmp_path: Path) -> None:
    record(tmp_path / "w", ("Oslo", 1))
    reader = CachedWorld.open(tmp_path / "w")
    report = record(tmp_path / "w", ("Oslo", 9), ("Riga", 2), start_from=tmp_path / "w").report
    assert (report.entries, len(report.conflicts)) == (2, 1)
    assert report.conflicts[0].kept == "from 1"
    assert reader.call(TOOL, {"query": "Riga"}).status is ResultStatus.MISS, "an open reader keeps its world"
    assert CachedWorld.open(tmp_path / "w").call(TOOL, {"query": "Riga"}).value == 2


def test_only_a_recorded_world_is_begun_with_and_only_a_file_written(tmp_path: Path) -> None:
    (tmp_path / "garbage").write_text("hello")
    (tmp_path / "folder").mkdir()
    for origin, said in (("garbage", "not a recorded world"), ("folder", "no recorded world"), ("none", "no recorded")):
        with pytest.raises(WorldError, match=said):
            record(tmp_path / "w", ("Oslo", 1), start_from=tmp_path / origin)
    with pytest.raises(WorldError, match="a folder"):
        record(tmp_path / "folder", ("Oslo", 1))
    with pytest.raises(WorldError, match="can't write the world"):
        record(tmp_path / "garbage" / "w", ("Oslo", 1))
    assert {p.name for p in tmp_path.iterdir()} == {"garbage", "folder"}


def test_the_content_hash_is_of_the_content(tmp_path: Path) -> None:
    rows = [(f"city {n}", {"id": n}) for n in range(200)]
    first = record(tmp_path / "a", *rows).report.content_hash
    random.Random(1).shuffle(rows)
    assert record(tmp_path / "b", *rows).report.content_hash == first
    assert record(tmp_path / "c", *rows[1:]).report.content_hash != first
    assert record(tmp_path / "d", *rows[1:], (rows[0][0], {"id": -1})).report.content_hash != first
    assert CachedWorld.open(tmp_path / "a").content_hash == first


@pytest.mark.parametrize("status", [s for s in ResultStatus if s not in (OK, ResultStatus.UPSTREAM_ERROR)])
def test_only_answers_of_a_service_are_recorded(tmp_path: Path, status: ResultStatus) -> None:
    with pytest.raises(DataError, match="not an answer"), CacheWriter(tmp_path / "w", SCHEMAS) as writer:
        writer.add(TOOL, {"query": "x"}, status, {}, "x")


def test_an_unknown_tool_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Search_Hotels"), CacheWriter(tmp_path / "w", SCHEMAS) as writer:
        writer.add("Search_Hotel", {}, OK, {}, "x")


def test_recorded_errors_are_answers_but_no_entries(tmp_path: Path) -> None:
    with CacheWriter(tmp_path / "w", SCHEMAS) as writer:
        writer.add(TOOL, {"query": "x"}, ResultStatus.UPSTREAM_ERROR, {"error": "down"}, "x")
    world = CachedWorld.open(tmp_path / "w")
    assert world.call(TOOL, {"query": "x"}).status is ResultStatus.UPSTREAM_ERROR
    assert list(world.entries(TOOL)) == []
    world.verify()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(good_calls(), json_values), min_size=1, max_size=5))
def test_whatever_is_recorded_is_answered(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    path = tmp_path_factory.mktemp("w") / "world"
    first: list[Any] = []
    with CacheWriter(path, SCHEMAS) as writer:
        for (schema, arguments), value in rows:
            if writer.add(schema.name, arguments, OK, value, "x"):
                first.append((schema.name, arguments, value))
    world = CachedWorld.open(path)
    world.verify()
    assert writer.report.entries == len(first)
    for tool, arguments, value in first:
        assert world.call(tool, arguments).value == decode(encode(value))


@pytest.mark.parametrize("value", [2**70, "\ud800", {"a": [1, {"é": None}]}, [], "", None, 0.1])
def test_every_json_value_is_kept(value: object) -> None:
    assert decode(encode(value)) == value
