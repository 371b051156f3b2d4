"""Matching: each step once, best attempt, data flow from the ledger, and what success means."""
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.match import chain_of, match
from BFCL.check.tests.moves import MISS, OK, Move, chain, fan, gold_moves, play, text_schema, wrong_value
from environment.core.calls import ParseStatus, ResultStatus
from environment.core.schema import ToolSchema
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import StopReason

LENGTHS = [1, 2, 3, 5, 12]


@pytest.mark.parametrize("length", LENGTHS)
def test_gold_is_a_success(length: int) -> None:
    task, responses = chain(length)
    found = match(play(gold_moves(task, responses)), task, {})
    assert found.success
    assert [s.call for s in found.steps] == list(range(length))
    assert (found.turn_accuracy, found.call_accuracy, found.correct_prefix) == (1.0, 1.0, length)
    assert not (found.surplus or found.failed or found.repeated)


@pytest.mark.parametrize("stop", [s for s in StopReason if s != StopReason.ANSWER])
def test_success_needs_an_answer(stop: StopReason) -> None:
    task, responses = chain(3)
    found = match(play(gold_moves(task, responses), stop), task, {})
    assert found.correct_calls == 3 and not found.success


@given(st.permutations(range(4)))
def test_independent_steps_of_one_tool_in_any_order(order: list[int]) -> None:
    task, responses = fan(4)
    moves = gold_moves(task, responses)
    found = match(play([*(moves[i] for i in order), moves[-1]]), task, {})
    assert found.success
    assert [found.steps[i].call for i in order] == [0, 1, 2, 3]


def test_a_call_serves_one_step() -> None:
    task = Task("t", "q", ("search",), (GoldStep("search", {"query": "a"}), GoldStep("search", {"query": "a"})))
    once = match(play([Move("search", {"query": "a"})]), task, {})
    assert once.correct_calls == 1 and not once.success
    assert match(play([Move("search", {"query": "a"})] * 2), task, {}).success


def test_best_attempt_counts_and_failed_tries_do_not_spoil_success() -> None:
    task, responses = chain(3)
    moves = gold_moves(task, responses)
    found = match(play([wrong_value(moves[0]), *moves]), task, {})
    assert found.success and found.failed == (0,)
    assert [s.call for s in found.steps] == [1, 2, 3]


def test_an_executed_extra_spoils_success() -> None:
    task, responses = chain(3)
    moves = gold_moves(task, responses)
    found = match(play([*moves, Move("other", {}, {"x": 1})]), task, {})
    assert found.correct_prefix == 3 and found.surplus == (3,) and not found.success


def test_a_repeat_is_surplus_and_repeated() -> None:
    task, responses = chain(3)
    moves = gold_moves(task, responses)
    found = match(play([moves[0], moves[0], *moves[1:]]), task, {})
    assert found.surplus == found.repeated == (1,)


def test_a_call_the_service_lost_may_be_made_again() -> None:
    task, responses = chain(2)
    moves = gold_moves(task, responses)
    lost = Move(moves[0].name, moves[0].arguments, status=ResultStatus.TIMEOUT)
    found = match(play([lost, *moves]), task, {})
    assert found.success and not (found.failed or found.repeated)


@pytest.mark.parametrize("parse", [p for p in ParseStatus if p != ParseStatus.OK])
def test_unreadable_calls_match_nothing(parse: ParseStatus) -> None:
    task, responses = chain(1)
    move = Move(task.steps[0].function, task.steps[0].arguments, status=ResultStatus.NOT_EXECUTED, parse=parse)
    found = match(play([move]), task, {})
    assert found.steps[0].call is None and found.failed == (0,) and found.readable == 0
    assert match(play([move, *gold_moves(task, responses)]), task, {}).success


def test_what_was_not_carried_out_is_not_correct() -> None:
    task, responses = chain(2)
    moves = gold_moves(task, responses)
    ghost = Move(moves[1].name, moves[1].arguments, status=ResultStatus.NOT_EXECUTED)
    assert match(play([moves[0], ghost]), task, {}).correct_calls == 1
    assert match(play([moves[0], ghost, moves[1]]), task, {}).success


def test_a_value_counts_as_observed_only_after_it_was_shown() -> None:
    task, responses = chain(2)
    first, second = gold_moves(task, responses)
    after, before = match(play([first, second]), task, {}), match(play([second, first]), task, {})
    assert after.steps[1].edges[0].observed and after.steps[1].ordered
    assert not before.steps[1].edges[0].observed and not before.steps[1].ordered
    assert before.correct_calls == 2 and not before.success


def test_calls_of_one_turn_have_not_seen_each_other() -> None:
    task, responses = chain(2)
    first, second = gold_moves(task, responses)
    together = Move(second.name, second.arguments, second.value, joined=True)
    found = match(play([first, together]), task, {})
    assert not found.steps[1].edges[0].observed and not found.success


def test_a_guess_made_too_early_gives_way_to_the_call_made_in_time() -> None:
    task, responses = chain(2)
    first, second = gold_moves(task, responses)
    found = match(play([Move(second.name, second.arguments, status=MISS), first, second]), task, {})
    assert found.steps[1].call == 2 and found.success


def test_order_without_an_edge_picks_the_later_of_two_equal_calls() -> None:
    task = Task("t", "q", ("a", "b"), (GoldStep("a", {}), GoldStep("b", {"x": 1}, (0,))))
    found = match(play([Move("b", {"x": 1}), Move("a", {}), Move("b", {"x": 1})]), task, {})
    assert found.steps[1].call == 2 and found.steps[1].ordered


def test_errors_and_the_models_own_words_are_no_observation() -> None:
    task, responses = chain(2)
    _, second = gold_moves(task, responses)
    echo = Move("search", {"query": "id-0"}, {"items": [{"id": "id-0"}]}, MISS)
    assert not match(play([echo, second]), task, {}).steps[1].edges[0].observed


def test_an_id_shown_as_a_number_may_be_passed_as_text() -> None:
    steps = (GoldStep("find", {}), GoldStep("look", {"hotel_id": "4711"}, (0,), (Edge("hotel_id", 0, "id"),)))
    task, schemas = Task("t", "q", ("find", "look"), steps), {"look": text_schema("look", "hotel_id")}
    for written in ("4711", 4711, " 4711 "):
        assert match(play([Move("find", {}, {"id": 4711}), Move("look", {"hotel_id": written})]), task, schemas).success


def test_nested_arguments_carry_edges() -> None:
    edges = (Edge("legs[0].fromId", 0, "id"), Edge("legs[1].fromId", 0, "id"))
    legs = [{"fromId": "A.CITY", "date": "x"}, {"fromId": "B.CITY", "date": "y"}]
    task = Task("t", "q", ("a", "b"), (GoldStep("a", {}), GoldStep("b", {"legs": legs}, (0,), edges)))
    found = match(play([Move("a", {}, [{"id": "A.CITY"}]), Move("b", {"legs": legs})]), task, {})
    assert [e.observed for e in found.steps[1].edges] == [True, False]
    assert found.success


def test_defaults_and_spelling_do_not_matter_but_ids_do() -> None:
    properties = {
        "query": {"type": "string", "x-free-text": True},
        "adults": {"type": "integer", "default": 1},
        "date": {"type": "string", "format": "date"},
        "token": {"type": "string"},
    }
    schema = ToolSchema("s", "", {"type": "object", "properties": properties})
    task = Task("t", "q", ("s",), (GoldStep("s", {"query": "New York", "date": "2026-05-03", "token": "aB"}),))
    same = {"query": " new  york", "adults": "1", "date": "2026/5/3", "token": "aB"}
    assert match(play([Move("s", same)]), task, {"s": schema}).success
    for name, value in (("adults", 2), ("date", "2026-05-04"), ("token", "ab"), ("extra", "x")):
        assert not match(play([Move("s", {**same, name: value})]), task, {"s": schema}).success


def test_turn_accuracy_is_the_prefix_and_call_accuracy_counts_everything() -> None:
    task, responses = chain(4)
    moves = gold_moves(task, responses)
    found = match(play([moves[0], wrong_value(moves[1]), *moves[2:]]), task, {})
    assert (found.turn_accuracy, found.call_accuracy) == (0.25, 0.75)
    spam = match(play([*moves, *[Move("x", {})] * 4]), task, {})
    assert (spam.turn_accuracy, spam.call_accuracy) == (1.0, 0.5)


def test_a_task_without_steps_wants_no_calls() -> None:
    task = Task("t", "q", (), ())
    assert match(play([]), task, {}).success
    assert not match(play([Move("x", {}, status=OK)]), task, {}).success


def test_edges_that_point_nowhere_are_never_satisfied() -> None:
    task = Task("t", "q", ("a",), (GoldStep("a", {"x": 1}, (7,), (Edge("x", 7, "id"), Edge("x", -1, "id"))),))
    found = match(play([Move("a", {"x": 1})]), task, {})
    assert not found.success and not any(e.ordered or e.observed for e in found.steps[0].edges)


def test_a_chain_is_kept_for_the_same_task_and_schemas_and_for_no_others() -> None:
    task, responses = chain(2)
    schemas = {"search": text_schema("search", "query", "adults")}
    kept = chain_of(task, schemas)
    assert chain_of(task, schemas) is kept
    assert chain_of(task, dict(schemas)) is not kept
    others = [chain(2)[0] for _ in range(600)]
    assert all(chain_of(other, schemas).task is other for other in others)
    assert match(play(gold_moves(task, responses)), task, schemas).success


def test_a_call_to_the_letter_and_one_in_other_words_are_laid_alike() -> None:
    task, responses = chain(3)
    moves = gold_moves(task, responses)
    schema = {"type": "object", "properties": {"query": {"type": "string"}, "adults": {"type": "integer"}}}
    schemas = {"search": ToolSchema("search", "", schema)}
    worded = [Move("search", {"adults": "2", "query": " Paris "}, responses[0]), *moves[1:]]
    assert match(play(worded), task, schemas) == match(play(moves), task, schemas)
