"""Filters, search, order and addresses: each against counting by hand."""
from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.tests.support import make_task
from evaluation.viewer import search
from evaluation.viewer.index import Index, Place, outcome_of
from evaluation.viewer.query import LONGEST, ORDERS, OUTCOMES, Finder, Query, read_query, value_of
from evaluation.viewer.search import spellings
from evaluation.viewer.sources import find_source
from evaluation.viewer.tests.support import HOSTILE, hostile, make_viewed_run, rollout, write_lines


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Return the index of a run, with one hostile trajectory and one that the infrastructure failed."""
    run = make_viewed_run(tmp_path_factory.mktemp("runs") / "run", steps=2)
    lost = {**rollout(make_task(0), "right", 0).to_json(), "stop": "infrastructure", "error": "gone"}
    write_lines(run / "rollouts" / "step_00003.jsonl", [hostile(), lost])
    made = Index(find_source(run))
    made.refresh()
    return made


def texts(index: Index) -> dict[str, str]:
    return {p.key: p.file.line_of(p.row).decode("utf-8", "replace") for p in index.places()}


def test_filters_keep_what_they_say(index: Index) -> None:
    finder, everything = Finder(index), list(index.places())
    for stop in {p.row.stop for p in everything}:
        assert finder.find(Query(stop=stop)) == [p for p in everything if p.row.stop == stop]
    for outcome in OUTCOMES:
        assert finder.find(Query(outcome=outcome)) == [p for p in everything if outcome_of(p.row) == outcome]
    for tool in {t for p in everything for t in p.row.tools}:
        assert finder.find(Query(tool=tool)) == [p for p in everything if tool in p.row.tools]
    for number in (1, 3, 99):
        assert finder.find(Query(file=number)) == [p for p in everything if p.file.number == number]
    task = everything[0].row.task
    assert finder.find(Query(task=task)) == [p for p in everything if p.row.task == task]
    assert finder.find(Query()) == everything


@pytest.mark.parametrize("part", ["", "score", "R_form", "calls/made", "no such part"])
@pytest.mark.parametrize(("low", "high"), [(None, 0.5), (0.5, None), (0.25, 0.25), (1.0, 0.0)])
def test_bounds_are_about_the_part_that_is_named(
    index: Index, part: str, low: float | None, high: float | None
) -> None:
    query = Query(part=part, low=low, high=high)
    found = {p.key for p in Finder(index).find(query)}
    for place in index.places():
        value = value_of(query, place)
        inside = value is not None and (low is None or value >= low) and (high is None or value <= high)
        assert (place.key in found) == inside


def test_filters_meet(index: Index) -> None:
    query = Query(outcome="failure", stop="answer", tool="Search_Hotels", file=1)
    by_one = [set(map(key, Finder(index).find(q))) for q in
              (Query(outcome="failure"), Query(stop="answer"), Query(tool="Search_Hotels"), Query(file=1))]  # fmt: skip
    assert set(map(key, Finder(index).find(query))) == set.intersection(*by_one) != set()


def key(place: Place) -> str:
    return place.key


@pytest.mark.parametrize("order", ORDERS)
def test_an_order_keeps_everything_and_is_stable(index: Index, order: str) -> None:
    query = Query(order=order)
    found = Finder(index).find(query)
    assert sorted(map(key, found)) == sorted(map(key, index.places()))
    measure = {"calls": "calls", "turns": "turns", "long": "length"}.get(order)
    if measure:
        sizes = [getattr(p.row, measure) for p in found]
        assert sizes == sorted(sizes, reverse=True)
    elif order:
        values = [p.row.reward for p in found if p.row.reward is not None]
        assert values == sorted(values, reverse=order == "high")
        assert all(p.row.reward is None for p in found[len(values) :])


@pytest.mark.parametrize(
    "text",
    ["lisbon", "LISBON", '"query": "Lisbon"', "Search_Hotels", "tool_call", "no words", "step", "\u202egnp", HOSTILE],
)
def test_search_finds_the_lines_that_hold_the_text(index: Index, text: str) -> None:
    found = {p.key for p in Finder(index).find(Query(q=text))}
    wanted = {k for k, line in texts(index).items() if any(s.decode() in line.lower() for s in spellings(text))}
    assert found == wanted


def test_search_looks_only_at_what_the_filters_left(index: Index) -> None:
    for query in (Query(q="lisbon", outcome="failure"), Query(q="lisbon", file=2), Query(q="graz", order="low")):
        left = {p.key for p in Finder(index).find(replace(query, q=""))}
        hits = {p.key for p in Finder(index).find(Query(q=query.q))}
        assert {p.key for p in Finder(index).find(query)} == left & hits


def test_search_is_the_same_whatever_the_size_of_its_pieces(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [key(p) for p in Finder(index).find(Query(q="data[0].dest_id"))]
    for chunk in (997, 4096, 1 << 16):
        monkeypatch.setattr(search, "CHUNK", chunk)
        assert [key(p) for p in Finder(index).find(Query(q="data[0].dest_id"))] == whole
    assert whole


def test_text_of_any_alphabet_is_found_however_it_is_stored(tmp_path: Path) -> None:
    row = rollout(make_task(0), "right", 0).to_json()
    row["messages"][1]["content"] = 'Ein Zimmer in Zürich, „bitte“, 北京 "now"\nsoon'
    for name, ascii_only in (("a", True), ("b", False)):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(row, ensure_ascii=ascii_only) + "\n", encoding="utf-8")
    index = Index(find_source(tmp_path))
    index.refresh()
    for text in ("zürich", "北京", '"now"', "„bitte“"):
        assert len(Finder(index).find(Query(q=text.capitalize() if text.isascii() else text))) == 2
    assert Finder(index).find(Query(q="no such")) == []


QUERIES = st.builds(
    Query, q=st.text(max_size=30).map(str.strip), outcome=st.sampled_from(("", *OUTCOMES)), stop=st.text(max_size=9),
    tool=st.text(max_size=9), file=st.none() | st.integers(1, 999), task=st.text(max_size=9), part=st.text(max_size=9),
    low=st.none() | st.floats(-9, 9), high=st.none() | st.floats(-9, 9), order=st.sampled_from(ORDERS),
    page=st.integers(1, 999),
)  # fmt: skip


@given(QUERIES)
def test_an_address_says_the_whole_query(query: Query) -> None:
    assert read_query(query.address()) == (query, [])


NAMES = st.sampled_from(["q", "outcome", "file", "low", "high", "order", "page", "x"])


@given(st.dictionaries(NAMES, st.text(), max_size=8))
def test_no_address_breaks_a_page(given_: dict[str, str]) -> None:
    query, problems = read_query(urlencode(given_, errors="replace"))
    assert query.page >= 1 and query.order in ORDERS
    assert all(": " in problem for problem in problems)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("page=0", "page: '0' is not the number of a page"),
        ("page=-3", "page: '-3'"),
        ("file=one", "file: 'one'"),
        ("low=nan", "low: 'nan' is not a number"),
        ("high=1e999", "high: '1e999'"),
        ("outcome=maybe", "outcome: 'maybe' is not one of success"),
        ("&".join(f"a{n}=1" for n in range(200)), "too many parts"),
    ],
)
def test_what_is_not_understood_is_named(text: str, problem: str) -> None:
    query, problems = read_query(text)
    assert query == Query() and problem in problems[0]


def test_long_texts_are_cut_before_they_cost_anything() -> None:
    query, _ = read_query("q=" + "x" * 100_000)
    assert len(query.q) == LONGEST


def test_the_finder_answers_anew_when_the_index_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.viewer.index.REST_S", 0.0)
    path = write_lines(tmp_path / "a.jsonl", [rollout(make_task(0), "right", 0)])
    index = Index(find_source(path))
    index.refresh()
    finder: Any = Finder(index)
    assert len(finder.find(Query())) == 1 and finder.find(Query()) is finder.find(Query(page=2))
    with path.open("a") as file:
        file.write(json.dumps(rollout(make_task(1), "wrong", 0).to_json()) + "\n")
    index.refresh()
    assert len(finder.find(Query())) == 2
