"""The reference's rules with their quirks, each shown where it bites, and the same episodes under the strict rules."""
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from environment.core.task import GoldStep
from environment.core.trajectory import StopReason
from evaluation.suites.complexfuncbench.reference import PROBLEM
from evaluation.suites.complexfuncbench.suite import ComplexFuncBench
from evaluation.suites.complexfuncbench.tests.support import (
    call,
    find,
    judged,
    made,
    make_row,
    open_suite,
    place,
    play,
    rows,
    stay,
    stays,
)

LISBON, GHENT = "Lisbon", "Ghent"
GOLD = [made(find(LISBON)), made(stay(LISBON)), "Here you are."]
BROKEN = '<tool_call>{"name": "Search_Hotels", "arguments": {</tool_call>'


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComplexFuncBench]:
    """Return the suite as the reference plays it."""
    opened = open_suite(tmp_path_factory.mktemp("cfb"), rules="reference")
    yield opened
    opened.close()


def record(suite: ComplexFuncBench, turns: list[str], identity: str = "Hotels-1") -> dict[str, Any]:
    """Return what the reference's record says of some turns."""
    return judged(suite, identity, turns).to_json()["reference"]


def kind(row: dict[str, Any]) -> str:
    """Return how an entry ended, in one word."""
    message = row["message"]
    if isinstance(message, list):
        return message[0]["error_type"]
    return message if isinstance(message, str) else message["error_type"]


def counts(row: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return turns done, of all, calls right, of all."""
    return tuple(row[k] for k in ("success_turn_num", "total_turn_num", "correct_call_num", "total_call_num"))


def test_gold_succeeds_in_every_entry(suite: ComplexFuncBench) -> None:
    for item in suite.items:
        row = record(suite, suite.gold(item), item.id)
        n, calls = item.case.turns, len(item.case.calls)
        assert (kind(row), counts(row), row["real_turn_num"]) == ("Success.", (n, n, calls, calls), n)


def test_w85_wrong_values_count_where_any_answer_has_the_same_status(suite: ComplexFuncBench) -> None:
    """The stay is searched in another city: strict says no, the reference shows the gold answer and says yes."""
    wrong = [GOLD[0], made(stay(GHENT)), "Here you are."]
    mark = judged(suite, "Hotels-1", wrong)
    assert mark.success and mark.to_json()["reference"]["success"]
    assert not mark.to_json()["strict"]["success"] and mark.to_json()["strict"]["fault"] == "wrong_value"
    shown = json.loads(play(suite, "Hotels-1", wrong).messages[-2]["content"])
    assert shown == stays(LISBON)


def test_w85_lists_must_be_equal_as_a_whole(tmp_path: Path) -> None:
    lists = [make_row(f"Hotels-{i}", [find(c)], [[{"name": c}]]) for i, c in enumerate((LISBON, GHENT))]
    suite = open_suite(tmp_path, lists, rules="reference")
    assert kind(record(suite, [made(find(LISBON)), "Done."], "Hotels-0")) == "Success."
    assert kind(record(suite, [made(find(GHENT)), "Done."], "Hotels-0")) == "no_match"
    suite.close()


def test_names_of_all_gold_arguments_must_be_there_and_more_may_be(suite: ComplexFuncBench) -> None:
    more = made(stay(LISBON), adults=1)
    assert kind(record(suite, [GOLD[0], made(stay(LISBON), search_type=None), "Done."])) == "no_match"
    assert kind(record(suite, [GOLD[0], more, "Done."])) == "Success."


def test_w86_the_first_fit_can_block_a_like_call(tmp_path: Path) -> None:
    """A call that fits both gold calls takes the first, which alone would have fitted the next call."""
    first, second = {"query": LISBON}, {"query": LISBON, "languagecode": "en"}
    steps = [GoldStep("Search_Hotel_Destination", a) for a in (first, second)]
    suite = open_suite(tmp_path, [make_row("Hotels-1", steps, [place(LISBON)] * 2)], rules="reference")
    turn = "\n".join(call("Search_Hotel_Destination", **a) for a in (second, first))
    mark = judged(suite, "Hotels-1", [turn, "Done."]).to_json()
    assert mark["reference"]["correct_call_num"] == 1
    assert mark["strict"]["right_calls"] == 2 and mark["strict"]["success"]
    suite.close()


def test_w88_an_unreadable_call_costs_all_credit(suite: ComplexFuncBench) -> None:
    row = record(suite, [GOLD[0], BROKEN, *GOLD[1:]])
    assert (kind(row), counts(row), row["real_turn_num"]) == ("exception", (0, 2, 0, 2), 0)


def test_a_turn_without_a_match_ends_the_entry(suite: ComplexFuncBench) -> None:
    trajectory = play(suite, "Hotels-1", [GOLD[0], call("Get_Hotel_Details", hotel_id=1), *GOLD[1:]])
    assert trajectory.stop == StopReason.MAX_TURNS and len(trajectory.calls) == 2
    row = record(suite, [GOLD[0], call("Get_Hotel_Details", hotel_id=1), *GOLD[1:]])
    assert (kind(row), counts(row)) == ("no_match", (1, 2, 1, 2))


def test_a_call_beside_a_match_is_complained_of_and_costs_nothing(suite: ComplexFuncBench) -> None:
    turns = ["\n".join([GOLD[0], call("Get_Hotel_Details", hotel_id=1)]), *GOLD[1:]]
    trajectory = play(suite, "Hotels-1", turns)
    assert json.loads(trajectory.messages[3]["content"]) == PROBLEM
    assert kind(record(suite, turns)) == "Success."


def test_a_call_after_all_was_done_counts_as_all_done(suite: ComplexFuncBench) -> None:
    row = record(suite, [*GOLD[:2], GOLD[1], "Done."])
    assert (kind(row), counts(row)) == ("func_hallucination", (2, 2, 2, 2))
    assert not judged(suite, "Hotels-1", [*GOLD[:2], GOLD[1], "Done."]).to_json()["strict"]["success"]


def test_w90_look_ups_may_be_left_out_at_the_end_and_the_next_turn_is_open_at_once(suite: ComplexFuncBench) -> None:
    row = record(suite, [GOLD[1], "Done."])
    assert (kind(row), counts(row)) == ("Success.", (2, 2, 1, 2))
    assert not judged(suite, "Hotels-1", [GOLD[1], "Done."]).to_json()["strict"]["success"]


def test_w90_place_by_name_is_optional_on_the_way_but_not_at_the_end(tmp_path: Path) -> None:
    steps = [GoldStep("Location_to_Lat_Long", {"query": LISBON}), stay(LISBON, 0)]
    lines = [make_row("Hotels-1", steps, [place(LISBON), stays(LISBON)])]
    suite = open_suite(tmp_path, lines, rules="reference")
    row = record(suite, [made(stay(LISBON)), "Done."])
    assert (kind(row), counts(row)) == ("incomplete_execution", (0, 2, 1, 2))
    suite.close()


def test_an_early_answer_is_incomplete_and_an_empty_one_no_answer(suite: ComplexFuncBench) -> None:
    row = record(suite, [GOLD[0], "I am done."])
    assert (kind(row), counts(row)) == ("incomplete_execution", (1, 2, 1, 2))
    row = record(suite, [GOLD[0], ""])
    assert (kind(row), counts(row)) == ("unknown_error", (0, 2, 0, 2))


def test_no_system_prompt_and_whole_observations(suite: ComplexFuncBench) -> None:
    messages = play(suite, "Hotels-1", GOLD).messages
    assert [m["role"] for m in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert json.loads(messages[2]["content"]) == place(LISBON)


@pytest.mark.parametrize("rules", ["strict", "reference"])
def test_an_episode_is_judged_alike_by_whatever_rules_it_was_played(tmp_path: Path, rules: str) -> None:
    """Correct calls are answered alike, so gold is gold; the gold answers shown for wrong ones are no evidence."""
    suite = open_suite(tmp_path, rows(), rules=rules)
    right, wrong = judged(suite, "Hotels-1", GOLD), judged(suite, "Hotels-1", [GOLD[0], made(stay(GHENT)), "Done."])
    assert (right.to_json()["strict"]["success"], right.to_json()["reference"]["success"]) == (True, True)
    assert (wrong.to_json()["strict"]["success"], wrong.to_json()["reference"]["success"]) == (False, True)
    suite.close()
