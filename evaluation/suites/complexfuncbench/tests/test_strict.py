"""The strict rules: equal arguments or equal answers, one to one, nothing executed in vain, closed with an answer."""
from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.suite import Mark
from evaluation.suites.complexfuncbench.strict import equal_answers, says_something
from evaluation.suites.complexfuncbench.suite import ComplexFuncBench
from evaluation.suites.complexfuncbench.tests.support import (
    call,
    find,
    judged,
    made,
    make_row,
    open_suite,
    place,
    rows,
    stay,
    stays,
)

LISBON, GRAZ, TURKU = "Lisbon", "Graz", "Turku"
GOLD = [made(find(LISBON)), made(stay(LISBON)), "Here you are."]


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComplexFuncBench]:
    """Return the suite under the strict rules."""
    opened = open_suite(tmp_path_factory.mktemp("cfb"))
    yield opened
    opened.close()


def strict(mark: Mark) -> tuple[bool, int, int]:
    """Return success, turns done and right calls."""
    row = mark.to_json()["strict"]
    return row["success"], row["success_turns"], row["right_calls"]


def test_gold_earns_full_marks_in_every_entry(suite: ComplexFuncBench) -> None:
    for item in suite.items:
        mark = judged(suite, item.id, suite.gold(item))
        assert mark.success and mark.fault == "none"
        assert strict(mark) == (True, item.case.turns, len(item.case.calls))


def test_arguments_may_be_written_otherwise_but_not_be_others(suite: ComplexFuncBench) -> None:
    same = [GOLD[0], made(stay(LISBON), dest_id=4000, arrival_date="2027/5/1"), GOLD[2]]
    assert judged(suite, "Hotels-1", same).success
    mark = judged(suite, "Hotels-1", [GOLD[0], made(stay(LISBON), departure_date="2027-05-05"), GOLD[2]])
    assert (mark.success, mark.fault, strict(mark)) == (False, "wrong_value", (False, 1, 1))
    assert mark.to_json()["strict"]["steps"][1]["wrong"] == ("departure_date",)
    assert mark.to_json()["marks"][1] == {"step": 1, "right": False, "note": "wrong departure_date"}


def test_a_call_that_is_answered_just_like_the_gold_one_is_as_good(tmp_path: Path) -> None:
    other = make_row("Hotels-9", [find("Lissabon")], [{**place(LISBON), "timestamp": 17}])
    suite = open_suite(tmp_path, [*rows(), other])
    mark = judged(suite, "Hotels-1", [made(find("Lissabon")), *GOLD[1:]])
    assert mark.success
    assert [s["how"] for s in mark.to_json()["strict"]["steps"]] == ["answer", "arguments"]
    suite.close()


def test_two_searches_without_a_hit_are_not_alike(tmp_path: Path) -> None:
    nothing = {"status": True, "message": "Success", "data": []}
    lines = [make_row(f"Hotels-{i}", [find(c)], [nothing]) for i, c in enumerate(("Nowhere", "Elsewhere"))]
    suite = open_suite(tmp_path, lines)
    assert judged(suite, "Hotels-0", [made(find("Nowhere")), "None."]).success
    assert not judged(suite, "Hotels-0", [made(find("Elsewhere")), "None."]).success
    suite.close()


FAULTS = [
    (["I booked the Grand Hotel."], "no_call", 0),
    ([GOLD[0], "Done."], "missing_step", 1),
    ([GOLD[0], '<tool_call>{"name": "Search_Hotels", "arguments": {</tool_call>', "Sorry."], "malformed", 1),
    ([*GOLD[:2], ""], "no_answer", 2),
    ([*GOLD[:2], made(stay(GRAZ)), "Done."], "surplus_call", 2),
    ([made(find(LISBON), query="Lisbonn"), GOLD[1], "Done."], "wrong_value", 0),
]


@pytest.mark.parametrize(("turns", "fault", "done"), FAULTS, ids=[f for _, f, _ in FAULTS])
def test_every_kind_of_mistake_has_its_name(suite: ComplexFuncBench, turns: list[str], fault: str, done: int) -> None:
    mark = judged(suite, "Hotels-1", turns)
    assert (mark.success, mark.fault, strict(mark)[1]) == (False, fault, done)


def test_look_ups_of_places_are_free_and_failed_tries_cost_nothing(suite: ComplexFuncBench) -> None:
    detour = [made(find(GRAZ)), made(stay(LISBON), dest_id="1"), call("No_Such_Tool", x=1), *GOLD]
    assert judged(suite, "Hotels-1", detour).success


def test_the_same_call_twice_counts_once(suite: ComplexFuncBench) -> None:
    mark = judged(suite, "Hotels-1", [GOLD[0], GOLD[1], GOLD[1], GOLD[2]])
    assert strict(mark)[2] == 2 and mark.fault == "surplus_call"


PARTS = [made(find(GRAZ)), made(find(TURKU)), made(stay(GRAZ)), made(stay(TURKU))]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4)))[::5])
def test_the_order_of_calls_and_their_spread_over_turns_do_not_matter(
    suite: ComplexFuncBench, order: tuple[int, ...]
) -> None:
    calls = [PARTS[i] for i in order]
    assert judged(suite, "Cross-3", [*calls, "Done."]).success
    assert judged(suite, "Cross-3", ["\n".join(calls), "Done."]).success


TURNS = [*PARTS, made(find(LISBON)), made(stay(LISBON)), "<tool_call>{", call("X")]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(TURNS), max_size=7))
def test_each_gold_call_counts_once_and_all_are_needed(suite: ComplexFuncBench, turns: list[str]) -> None:
    mark = judged(suite, "Cross-3", [*turns, "Done."])
    success, done, right = strict(mark)
    known = len({t for t in turns if t in PARTS})
    assert right == known if "<tool_call>{" not in turns else right <= known
    assert 0 <= done <= 2 and success == (right == 4 and mark.fault == "none")
    assert (done == 2) == (right == 4)


def test_an_assignment_is_never_blocked_by_the_first_fit(tmp_path: Path) -> None:
    """Two gold calls are answered alike; the second is also named by its arguments."""
    same = place(LISBON)
    suite = open_suite(tmp_path, [make_row("Hotels-1", [find("Lisboa"), find(LISBON)], [same, same])])
    both = "\n".join([made(find(LISBON)), made(find("Lisboa"))])
    steps = judged(suite, "Hotels-1", [both, "Done."]).to_json()["strict"]["steps"]
    assert [(s["call"], s["how"]) for s in steps] == [(1, "arguments"), (0, "arguments")]
    suite.close()


def test_answers_are_alike_but_for_their_time_stamp() -> None:
    assert equal_answers({**place(LISBON), "timestamp": 1}, {**place(LISBON), "timestamp": 2})
    assert not equal_answers(place(LISBON), place(GRAZ))
    assert not equal_answers(None, None) and not equal_answers([], []) and equal_answers([1], [1])
    assert not says_something({"status": True, "message": "Success", "data": {"hotels": []}})
    assert says_something(stays(LISBON))
