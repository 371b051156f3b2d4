"""The LLM writer: its texts are held to the offline writer's checks, and a set stays the set it was."""
from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from data_synthesis.checks import query_problems
from data_synthesis.llm_writer import WriterReport, chain_of, reword
from data_synthesis.records import read_records, write_records
from data_synthesis.synth import synthesise
from data_synthesis.tasks import task_from_record
from data_synthesis.templates.load import load_patterns
from environment.booking.schemas import load_schemas
from environment.core.errors import DataError
from environment.server.endpoint.connect import EndpointSettings
from environment.server.endpoint.failures import Fatal
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, failed, said

SCHEMAS = load_schemas()
PATTERNS = {pattern.id: pattern for pattern in load_patterns(SCHEMAS)}
Model = Callable[[dict[str, Any], int], Reply]
"""(what was asked: example, facts, and the complaint of a second try; number) → reply."""


@pytest.fixture(scope="module")
def made(world_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("offline")
    synthesise(world_path, None, folder, 30, 8, 2, observation_chars=260)
    return folder


@pytest.fixture
def sets(made: Path, tmp_path: Path) -> tuple[Path, Path]:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "train.jsonl", tmp_path / "heldout.jsonl"


def run(sets: tuple[Path, ...], model: Model, **more: Any) -> tuple[WriterReport, FakeEndpoint]:
    def answer(body: dict[str, Any], number: int) -> Reply:
        asked = json.loads(body["messages"][1]["content"])
        told = body["messages"][-1]["content"] if len(body["messages"]) > 2 else ""
        return model({**asked, "told": told}, number)

    with FakeEndpoint(answer) as fake:
        return reword(sets, PATTERNS, SCHEMAS, EndpointSettings(fake.url, "writer", tries=3, **more)), fake


def polite(asked: dict[str, Any], number: int) -> Reply:
    """Word a request well: the example with something before it."""
    return said(json.dumps({"query": f"Good day to you. {asked['example']}"}))


def test_every_record_gives_back_the_chain_it_was_made_from(made: Path) -> None:
    for record in read_records(made / "train.jsonl"):
        chain = chain_of(record, PATTERNS, SCHEMAS)
        assert chain.steps == task_from_record(record, SCHEMAS).steps
        assert query_problems(chain, record["query"], SCHEMAS) == []


def test_only_the_words_change(sets: tuple[Path, Path], made: Path) -> None:
    report, fake = run(sets, polite)
    assert report.reworded > 25 and report.reworded + report.kept == 38
    assert len(fake.requests) >= 38 and report.counts["asked"] == len(fake.requests)
    for path in sets:
        rows, before = list(read_records(path)), list(read_records(made / path.name))
        assert rows == list(read_records(path.with_suffix(".pkl")))
        for row, old in zip(rows, before, strict=True):
            reworded = row["metadata"].get("writer") == "writer"
            assert row["query"] == (f"Good day to you. {old['query']}" if reworded else old["query"])
            assert {**row, "query": "", "metadata": {}} == {**old, "query": "", "metadata": {}}
            assert query_problems(chain_of(row, PATTERNS, SCHEMAS), row["query"], SCHEMAS) == []
            assert not reworded or row["metadata"]["offline_query"] == old["query"]


def test_nothing_internal_is_told_to_the_model(sets: tuple[Path, Path]) -> None:
    _, fake = run(sets, polite)
    asked = json.dumps([request["messages"] for request in fake.requests])
    assert not any(name in asked for name in SCHEMAS)
    for record in read_records(sets[0]):
        for step in record["steps"]:
            for edge in step["edges"]:
                value = str(step["ground_truth"]["arguments"].get(edge["argument"], ""))
                assert not (len(value) > 4 and any(c in "_=" for c in value)) or value not in asked


BAD: dict[str, Model] = {
    "unstated_value": lambda asked, n: said(json.dumps({"query": "Please do find me something nice to do on my trip, "
                                                                 "whatever you think is best for me there"})),
    "tool_word": lambda asked, n: said(json.dumps({"query": f"{asked['example']} Use search_hotels."})),
    "narrated_plan": lambda asked, n: said(json.dumps({"query": f"{asked['example']} First look up the id."})),
    "too_short": lambda asked, n: said(json.dumps({"query": "Hotel."})),
    "too_long": lambda asked, n: said(json.dumps({"query": asked["example"] + " please" * 60})),
    "no_usable_answer": lambda asked, n: said("Sure! Here is your request."),
}  # fmt: skip


@pytest.mark.parametrize("why", list(BAD))
def test_a_bad_text_is_turned_down_and_the_row_keeps_its_own(sets: tuple[Path, Path], made: Path, why: str) -> None:
    report, _ = run(sets, BAD[why])
    assert report.reworded == 0 and report.kept == 38
    assert report.rejected[why] >= 30 and report.examples[why]
    for path in sets:
        assert path.read_bytes() == (made / path.name).read_bytes()


def test_what_was_wrong_is_told_and_a_better_text_taken(sets: tuple[Path, Path]) -> None:
    def learns(asked: dict[str, Any], number: int) -> Reply:
        if "too short" in asked["told"]:
            return polite(asked, number)
        return said('{"query": "Hotel."}')

    report, _ = run(sets, learns)
    assert report.reworded > 25 and report.rejected["too_short"] >= 38


def test_a_place_of_another_row_would_break_the_split(sets: tuple[Path, Path]) -> None:
    heldout = [chain_of(r, PATTERNS, SCHEMAS).places for r in read_records(sets[1])]
    place = sorted(p for places in heldout for p in places)[0]

    def wanders(asked: dict[str, Any], number: int) -> Reply:
        return said(json.dumps({"query": f"{asked['example']} I come from {place}."}))

    report, _ = run(sets, wanders)
    assert report.rejected["stray_place"] > 20
    assert not any(place in row["query"] for row in read_records(sets[0]))


def test_texts_that_are_all_alike_are_not_taken_twice(sets: tuple[Path, Path]) -> None:
    report, _ = run(sets, lambda asked, n: said(json.dumps({"query": asked["example"]})))
    assert report.reworded + report.kept == 38
    texts = [row["query"] for path in sets for row in read_records(path)]
    assert len(set(texts)) == 38


def test_a_run_that_ends_early_changes_nothing_and_pays_once(
    sets: tuple[Path, Path], made: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "replies.db"
    with pytest.raises(Fatal):
        run(sets, lambda asked, n: polite(asked, n) if n < 10 else failed(401), cache=cache, concurrency=1)
    assert all(path.read_bytes() == (made / path.name).read_bytes() for path in sets)
    report, fake = run(sets, polite, cache=cache, concurrency=1)
    assert report.counts["cached"] >= 8 and report.counts["cached"] + len(fake.requests) >= 38
    again, silent = run(sets, polite, cache=cache)
    assert silent.requests == [] or again.counts["cached"] >= 38


def test_rows_made_elsewhere_are_refused_by_name(sets: tuple[Path, Path], tmp_path: Path) -> None:
    rows = list(read_records(sets[0]))
    rows[3].pop("metadata")
    write_records(tmp_path / "other.jsonl", rows)
    with pytest.raises(DataError, match=rows[3]["id"]):
        run((tmp_path / "other.jsonl",), polite)
