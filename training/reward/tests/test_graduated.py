"""The graduated reward: gold is 1, every mistake has its place in the order, no exploit pays."""
# pyright: basic
from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.flow import value_at
from BFCL.check.tests.moves import INVALID, MISS, OK, Move, chain, fan, gold_moves, play, wrong_value
from environment.core.calls import ParseStatus, ResultStatus, ToolCall
from environment.core.errors import ConfigError
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import Observed, StopReason
from training.reward.graduated import RewardWeights, score
from training.reward.tests.records import FILES, records

MADE = [chain(2), chain(3), chain(5), chain(8), chain(12), fan(2), fan(4), fan(7)]
LONG = [made for made in MADE if len(made[0].steps) >= 3]


def value(task: Task, moves: list[Move], stop: StopReason = StopReason.ANSWER) -> float:
    return score(play(moves, stop), task, {}).score


def without(moves: list[Move], index: int) -> list[Move]:
    return moves[:index] + moves[index + 1 :]


def instead(moves: list[Move], index: int, move: Move) -> list[Move]:
    return [*moves[:index], move, *moves[index + 1 :]]


def assert_ladder(task: Task, responses: list[Any]) -> None:
    """Gold > one failed try > one wrong value > that step missing > first call only > wrong tool > nothing."""
    moves = gold_moves(task, responses)
    failed_tries = [value(task, [*moves[:i], wrong_value(moves[i]), *moves[i:]]) for i in range(len(moves))]
    wrong = [value(task, instead(moves, i, wrong_value(moves[i]))) for i in range(len(moves))]
    missing = [value(task, without(moves, i)) for i in range(len(moves))]
    first_only = value(task, moves[:1])
    wrong_tool = value(task, [Move("No_Such_Tool", {}, status=ResultStatus.UNKNOWN_TOOL)])
    assert value(task, moves) == 1.0 > max(failed_tries)
    assert min(failed_tries) > max(wrong)
    assert all(w > m for w, m in zip(wrong, missing, strict=True))
    assert min(missing) > first_only > wrong_tool > value(task, []) == 0.0


def assert_exploits_fail(task: Task, responses: list[Any]) -> None:
    """Empty arguments, fabricated replies and repeats stay at or below a half, the first call alone near 1/N."""
    moves = gold_moves(task, responses)
    hollow = [Move(m.name, {}, status=INVALID) for m in moves]
    self_written = [Move(m.name, {}, {"status": True}) for m in moves]
    for exploit in (hollow, self_written, moves[:1] * 5 + hollow[1:], moves[:1] * 15 + hollow[1:]):
        assert value(task, exploit) <= 0.5
    assert value(task, moves[:1]) <= 1.5 / len(moves)


@pytest.mark.parametrize("made", LONG)
def test_ladder(made: tuple[Task, list[Any]]) -> None:
    assert_ladder(*made)


@pytest.mark.parametrize("made", MADE)
def test_exploits(made: tuple[Task, list[Any]]) -> None:
    assert_exploits_fail(*made)


@pytest.mark.parametrize("name", FILES)
def test_reference_records(name: str) -> None:
    for task, responses in records(name):
        found = score(play(gold_moves(task, responses)), task, {})
        assert (found.score, found.acc) == (1.0, True), task.id
        assert_exploits_fail(task, responses)
        if len(task.steps) >= 3:
            assert_ladder(task, responses)


def other_order(task: Task) -> list[int]:
    """Another order of the steps in which each comes after those it depends on: always the last one that may come."""
    order: list[int] = []
    while len(order) < len(task.steps):
        free = [i for i, s in enumerate(task.steps) if i not in order and set(s.depends_on) <= set(order)]
        order.append(free[-1])
    return order


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_reference_records_do_not_depend_on_accidents(name: str) -> None:
    """Another order of independent steps, other ids everywhere and cut replies change no score."""
    reordered = 0
    for task, responses in records(name):
        moves, order = gold_moves(task, responses), other_order(task)
        reordered += order != sorted(order)
        assert value(task, [moves[i] for i in order]) == 1.0, task.id
        short = play([m for i, m in enumerate(moves) if i != len(moves) // 2])
        part = score(short, task, {})
        cut = replace(short, results=tuple(replace(r, text=r.text[: len(r.text) // 2]) for r in short.results))
        assert score(cut, task, {}) == part
        found = [v for s in task.steps for e in s.edges if isinstance(v := value_at(s.arguments, e.argument), str)]
        names = {v: f"{v}-renamed" for v in found if not v.replace(".", "").lstrip("-").isdigit()}
        renamed = Task.from_json({**rename(task.to_json(), names), "tools": list(task.tools)})
        again = gold_moves(renamed, rename(responses, names))
        assert value(renamed, again) == 1.0
        assert value(renamed, [m for i, m in enumerate(again) if i != len(again) // 2]) == pytest.approx(part.score)
    assert reordered > 20


@pytest.mark.parametrize("made", MADE)
def test_waste_and_stopping_early_are_visible_inside_a_group(made: tuple[Task, list[Any]]) -> None:
    task, responses = made
    moves = gold_moves(task, responses)
    assert 0.84 <= value(task, [*moves, moves[-1]]) <= 0.90
    assert 0.84 <= value(task, [*moves, Move("other", {"x": 1})]) <= 0.90
    assert value(task, moves[:-1]) <= 1 - 0.8 / len(moves)
    assert value(task, moves, StopReason.MAX_TURNS) < 0.9
    assert value(task, moves[:-1], StopReason.MAX_TURNS) < value(task, moves[:-1])


def test_every_extra_costs_and_none_turns_the_score_negative() -> None:
    task, responses = chain(4)
    moves = gold_moves(task, responses)
    unreadable = Move("", {}, status=ResultStatus.NOT_EXECUTED, parse=ParseStatus.UNCLOSED)
    for extra in (Move("other", {}), Move("other", {}, status=MISS), unreadable):
        scores = [value(task, [*moves, *[extra] * n]) for n in range(0, 60, 6)]
        assert scores == sorted(scores, reverse=True) and len(set(scores)) == len(scores) and scores[-1] > 0


def test_guessing_the_ids_is_worth_less_than_looking_them_up() -> None:
    task, responses = chain(4)
    moves = gold_moves(task, responses)
    honest = value(task, moves[:3])
    assert value(task, [replace(m, joined=True) for m in moves]) < 0.75
    assert value(task, moves[::-1]) < honest
    blind = [replace(m, value={"ok": 1}) for m in moves]
    assert value(task, blind) < value(task, moves)


# ------------------------------------------------------------------------------------------ adversarial policies


def adversaries(task: Task, moves: list[Move]) -> dict[str, list[Move]]:
    hollow = [Move(m.name, {}, status=INVALID) for m in moves]
    tools = [*task.tools, *(f"tool_{i}" for i in range(40))]
    copied = "".join(f"<tool_call>{m.name}</tool_call><tool_response>{m.value}</tool_response>" for m in moves)
    return {
        "no-op": [],
        "spam all tools": [Move(t, {"query": "x"}, {"x": 1}) for t in tools],
        "gold in text": [Move("", {}, status=ResultStatus.NOT_EXECUTED, parse=ParseStatus.NOT_A_CALL)],
        "forged replies": [replace(h, arguments={"note": copied}) for h in hollow],
        "huge arguments": [Move(moves[0].name, {"query": "x" * 100_000, **{f"k{i}": i for i in range(1000)}}, {})],
        "endless repeats": moves[:1] * 200,
        "every call many times": [m for m in moves for _ in range(12)],
        "guess one id after another": moves[:1] + [Move(moves[1].name, {"item_id": f"g-{i}"}, {}) for i in range(50)],
    }


@pytest.mark.parametrize("made", LONG)
def test_adversaries_earn_less_than_an_honest_half(made: tuple[Task, list[Any]]) -> None:
    task, responses = made
    moves = gold_moves(task, responses)
    honest = value(task, moves[: math.ceil(len(moves) / 2)])
    for name, played in adversaries(task, moves).items():
        assert value(task, played) < honest, name


def test_an_answer_is_for_what_was_found() -> None:
    task, responses = chain(3)
    task = replace(task, answer="The item is id-2.")
    whole = play(gold_moves(task, responses))
    told, vague = (score(replace(whole, answer=a), task, {}) for a in ("I found id-2", "done"))
    assert (told.score, told.components["answer/told"]) == (1.0, 1.0)
    assert vague.score == pytest.approx(1 - 0.18 / 2) and vague.components["answer/told"] == 0.0
    assert vague.acc, "success asks for an answer, not for its words"
    assert score(replace(whole, answer="done"), task, {}, RewardWeights(bare_answer=1)).score == 1.0
    unanswered = score(play(gold_moves(task, responses), StopReason.MAX_TURNS), task, {})
    assert unanswered.score < vague.score and unanswered.components["answer/told"] == 0.0


def test_several_accepted_argument_sets_are_alike_and_are_not_mixed() -> None:
    step = GoldStep("find", {"city": "Rome", "n": 1}, accepted=({"city": "Bari", "n": 2},))
    task = Task("t", "q", ("find",), (step,))
    found = {
        (city, n): value(task, [Move("find", {"city": city, "n": n}, {})]) for city in ("Rome", "Bari") for n in (1, 2)
    }
    assert found["Rome", 1] == found["Bari", 2] == 1.0
    assert found["Rome", 2] == found["Bari", 1] < 0.8
    assert Task.from_json(task.to_json()) == task


@pytest.mark.parametrize("given", [True, 1.5, "one", None])
def test_a_value_that_python_holds_for_equal_is_not_the_same_value(given: Any) -> None:
    task = Task("t", "q", ("find",), (GoldStep("find", {"n": 1}),))
    assert value(task, [Move("find", {"n": given}, {})]) < 1.0
    seen = Task("t", "q", ("a", "b"), (GoldStep("a", {}), GoldStep("b", {"n": 1}, (0,), (Edge("n", 0, "x"),))))
    for shown, counts in ((True, False), (1, True), ("1", True), (1.0, True)):
        moves = [Move("a", {}, {"x": shown}), Move("b", {"n": 1}, {})]
        assert (value(seen, moves) == 1.0) == counts, shown


def test_text_is_not_read() -> None:
    task, responses = chain(3)
    honest = play(gold_moves(task, responses)[:2])
    forged = replace(honest, messages=({"role": "assistant", "content": "<tool_response>{}</tool_response>" * 9},))
    cut = replace(honest, results=tuple(replace(r, text=r.text[:3]) for r in honest.results))
    assert score(forged, task, {}) == score(cut, task, {}) == score(honest, task, {})


# ------------------------------------------------------------------------------------------ invariances, totality


@given(st.permutations(range(5)))
def test_order_of_independent_steps_is_free(order: list[int]) -> None:
    task, responses = fan(5)
    moves = gold_moves(task, responses)
    moves[1] = wrong_value(moves[1])
    shuffled = [*(moves[i] for i in order), moves[-1]]
    assert score(play(shuffled), task, {}).score == pytest.approx(value(task, moves), abs=1e-12)


@given(st.dictionaries(st.sampled_from(["id-0", "id-1", "Paris"]), st.text("abc", min_size=4, max_size=8), max_size=3))
def test_renaming_ids_everywhere_changes_nothing(names: dict[str, str]) -> None:
    if len(set(names.values())) < len(names):
        return
    task, responses = chain(4)
    renamed = Task.from_json(rename(task.to_json(), names))
    moves = gold_moves(renamed, rename(responses, names))
    assert value(renamed, without(moves, 1)) == value(task, without(gold_moves(task, responses), 1))


def rename(tree: Any, names: dict[str, str]) -> Any:
    if isinstance(tree, dict):
        return {key: rename(item, names) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [rename(item, names) for item in tree]
    return names.get(tree, tree) if isinstance(tree, str) else tree


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
)
arguments = st.dictionaries(st.sampled_from(["item_id", "date", "query", "x"]), json_values, max_size=3)
calls = st.builds(
    ToolCall,
    id=st.sampled_from(["t0c0", "t1c0", "t2c0", "t2c1"]),
    turn=st.integers(-1, 4),
    name=st.sampled_from(["search", "look_1", "look_2", "zz", ""]),
    arguments=arguments,
    raw=st.text(max_size=4),
    status=st.sampled_from(ParseStatus),
)
any_move = st.builds(
    Move,
    name=st.sampled_from(["search", "look_1", "look_2", "zz"]),
    arguments=arguments | st.just({"item_id": "id-0", "date": "2026-05-03"}) | st.just({"query": "Paris", "adults": 2}),
    value=json_values,
    status=st.sampled_from(ResultStatus),
    parse=st.sampled_from(ParseStatus),
    joined=st.booleans(),
)


@given(st.lists(any_move, max_size=9), st.sampled_from(StopReason))
def test_total_and_bounded_on_any_episode(moves: list[Move], stop: StopReason) -> None:
    task, _ = chain(3)
    found = score(play(moves, stop), task, {})
    assert 0.0 <= found.score <= 1.0
    assert all(math.isfinite(v) for v in found.as_log().values())
    assert found.score == 1.0 or not found.acc or found.components["calls/failed"] > 0
    assert found.void == (stop == StopReason.INFRASTRUCTURE)


observations = st.builds(Observed, st.sampled_from(["t0c0", "t9c9"]), st.text(max_size=2), json_values)


@given(st.lists(calls, max_size=5), st.lists(observations, max_size=5))
def test_total_on_trajectories_no_session_would_record(made: list[ToolCall], ledger: list[Observed]) -> None:
    task, responses = chain(3)
    torn = replace(play(gold_moves(task, responses)), calls=tuple(made), ledger=tuple(ledger))
    assert 0.0 <= score(torn, task, {}).score <= 1.0


def test_same_names_are_logged_for_every_trajectory() -> None:
    task, responses = chain(3)
    empty_task = Task("t", "q", (), ())
    gold, nothing = score(play(gold_moves(task, responses)), task, {}), score(play([]), task, {})
    nothing_asked = score(play([]), empty_task, {})
    assert len({tuple(found.as_log()) for found in (gold, nothing, nothing_asked)}) == 1
    assert (gold.score, nothing.score, nothing_asked.score) == (1.0, 0.0, 1.0)


def test_hundreds_of_calls_for_twelve_steps_of_one_tool() -> None:
    steps = tuple(GoldStep("s", {"q": str(i)}) for i in range(12))
    moves = [Move("s", {"q": str(i % 40)}, {}) for i in range(300)]
    found = score(play(moves), Task("t", "q", ("s",), steps), {})
    assert found.correct_calls == 12 and found.score < 0.01


# ------------------------------------------------------------------------------------------ weights


@pytest.mark.parametrize("name", [f.name for f in fields(RewardWeights)])
@pytest.mark.parametrize("bad", [-0.1, math.nan, math.inf, "1", None, True])
def test_bad_weights_are_refused_by_name(name: str, bad: Any) -> None:
    with pytest.raises(ConfigError, match=f"reward.weights.{name}"):
        RewardWeights(**{name: bad})


def test_weights_that_make_no_reward_are_refused() -> None:
    with pytest.raises(ConfigError, match="switched off"):
        RewardWeights(atomic=0, orchestration=0, state=0, form=0)
    for bad in ({"surplus_cost": 1.5}, {"order_only": 2}, {"derived": 0}):
        with pytest.raises(ConfigError):
            RewardWeights(**bad)


@given(st.lists(st.floats(0.01, 50), min_size=4, max_size=4), st.integers(0, 3))
def test_gold_is_one_under_any_weights_and_only_ratios_matter(raw: list[float], kept: int) -> None:
    weights = RewardWeights(*raw)
    scaled = RewardWeights(*(4 * w for w in raw))
    task, responses = chain(4)
    moves = gold_moves(task, responses)
    assert score(play(moves), task, {}, weights).score == 1.0
    part = play(moves[:kept])
    assert score(part, task, {}, weights).score == pytest.approx(score(part, task, {}, scaled).score)


def test_derived_arguments_can_weigh_more() -> None:
    step = GoldStep("look", {"item_id": "a", "date": "d"}, (0,), (Edge("item_id", 0, "id"),))
    task = Task("t", "q", ("find", "look"), (GoldStep("find", {}), step))
    find = Move("find", {}, {"id": "a"})
    weights = RewardWeights(derived=3)
    wrong_id = play([find, Move("look", {"item_id": "zz", "date": "d"}, status=MISS)])
    wrong_date = play([find, Move("look", {"item_id": "a", "date": "zz"}, status=OK)])
    parts = [score(t, task, {}, weights).components["R_atomic_validity"] for t in (wrong_id, wrong_date)]
    assert parts[0] < parts[1]
