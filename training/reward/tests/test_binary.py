"""The binary reward: one only where form and calls are both right, whatever order the calls come in."""

# pyright: basic
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.replay import GoldWorld, play_turns
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.trajectory import Trajectory
from environment.session.prompt import call_text
from training.reward.binary import BinaryOptions, score
from training.reward.tests.settings import made

PROPERTIES = {
    "city": {"type": "string"},
    "adults": {"type": "integer", "default": 1},
    "price": {"type": "number"},
    "legs": {"type": "array", "items": {"type": "object"}},
}
SCHEMAS = {"find": ToolSchema("find", "", {"type": "object", "properties": PROPERTIES, "required": ["city"]})}
OSLO = {"city": "Oslo", "price": 3.5, "legs": [{"to": "BGO", "n": 2}]}
TASK = Task("t", "q", ("find",), (GoldStep("find", OSLO), GoldStep("find", {"city": "Rome", "adults": 1})))
GOLD = [OSLO, {"city": "Rome", "adults": 1}]


def played(*turns: str, task: Task = TASK) -> Trajectory:
    return play_turns(turns, task, GoldWorld(task, [{}] * len(task.steps), SCHEMAS))


def value(*turns: str, task: Task = TASK, **options: float) -> float:
    return score(played(*turns, task=task), task, SCHEMAS, BinaryOptions(**options)).score


def calls(*arguments: dict[str, Any]) -> str:
    return "".join(call_text("find", a) for a in arguments)


def test_gold_in_one_turn_in_several_and_in_any_order() -> None:
    assert value(calls(*GOLD)) == value(*map(calls, GOLD), "done") == value(calls(*reversed(GOLD))) == 1.0


@pytest.mark.parametrize(
    ("changed", "right"),
    [
        ({"city": "Rome"}, True),  # left out: the documented default
        ({"city": "Rome", "adults": 2}, False),
        ({"city": "Rome", "adults": "1"}, False),
        ({"city": "Rome", "adults": True}, False),
        ({"city": "Rome", "stars": 4}, False),
        ({"adults": 1}, False),
        ({"city": "Roma"}, False),
        ({"city": "rome"}, True),  # the leaderboard folds case
        ({}, False),
    ],
)
def test_one_call_changed(changed: dict[str, Any], right: bool) -> None:
    assert value(calls(OSLO, changed)) == float(right)


@pytest.mark.parametrize(
    ("legs", "right"), [([{"to": "BGO", "n": 2}], True), ([{"to": "BGO"}], False), ([], False), ("BGO", False)]
)
def test_lists_of_objects_are_compared_key_by_key(legs: Any, right: bool) -> None:
    assert value(calls({**OSLO, "legs": legs}, GOLD[1])) == float(right)


def test_a_call_too_many_or_too_few_earns_nothing() -> None:
    assert value(calls(*GOLD, GOLD[0])) == value(calls(GOLD[0])) == value("done") == 0.0


@pytest.mark.parametrize(
    "turn",
    [
        "I will look. " + calls(*GOLD),
        calls(*GOLD) + "<tool_response>{}</tool_response>",
        "<tool_call>" + calls(*GOLD),
        calls(*GOLD) + "<tool_call>{</tool_call>",
        "<think>a<think>b</think>" + calls(*GOLD),
        "<answer>" + calls(*GOLD) + "</answer>",
    ],
)
def test_right_calls_in_a_wrong_form_earn_nothing(turn: str) -> None:
    assert value(turn) == 0.0


def test_reasoning_is_allowed_and_can_be_asked_for() -> None:
    thought = f"<think>two towns</think>\n{calls(*GOLD)}"
    assert value(thought) == value(thought, think=1.0) == 1.0
    assert value(calls(*GOLD), think=1.0) == 0.0


ANSWERED = '<think>two towns</think> <answer>[find(city="Oslo", price=3.5, legs=[{"to": "BGO", "n": 2}]), %s]</answer>'


def test_the_answer_form_is_read_as_python() -> None:
    right = ANSWERED % "find(adults=1, city='Rome')"
    assert value(right) == 1.0
    assert value(right, answer=0.0) == 0.0


@pytest.mark.parametrize(
    "last", ["find(city=town)", "find('Rome')", "find(city=__import__('os').getcwd())", "find(city='Rome') + 1", "5"]
)
def test_nothing_but_literals_is_a_right_answer(last: str) -> None:
    assert value(ANSWERED % last) == 0.0


def test_an_answer_needs_its_reasoning_and_nothing_around_it() -> None:
    right = ANSWERED % "find(city='Rome')"
    for wrong in (right.replace("<think>two towns</think>", ""), right + " done", right.replace("</answer>", "")):
        assert value(wrong) == 0.0


def test_no_calls_wanted() -> None:
    nothing = Task("t", "q", ("find",), ())
    assert value("It is sunny.", task=nothing) == value("<think>x</think><answer>[]</answer>", task=nothing) == 1.0
    assert value(calls(OSLO), task=nothing) == 0.0


def test_further_accepted_arguments_are_as_right_but_are_not_mixed() -> None:
    step = replace(TASK.steps[1], arguments={"city": "Rome", "adults": 2}, accepted=({"city": "Bari", "adults": 3},))
    task = replace(TASK, steps=(TASK.steps[0], step))
    assert value(calls(OSLO, {"city": "Bari", "adults": 3}), task=task) == 1.0
    assert value(calls(OSLO, {"city": "Bari", "adults": 2}), task=task) == 0.0


def test_tools_without_a_schema_are_judged_by_the_gold_values() -> None:
    for setting in made():
        whole = setting.honest(len(setting.task.steps))
        assert score(whole, setting.task, {}).score == 1.0 == score(whole, setting.task, setting.schemas).score


pieces = st.sampled_from([calls(OSLO), calls(GOLD[1]), "<think>", "</think>", "<answer>[", "]</answer>", "find(", "x"])


@given(st.lists(st.lists(pieces | st.text(max_size=4), max_size=5).map("".join), min_size=1, max_size=3))
def test_total_and_one_or_nothing(turns: list[str]) -> None:
    found = score(played(*turns), TASK, SCHEMAS)
    assert found.score in (0.0, 1.0) and found.score == found.components["form"] * found.components["ast"]


BAD = [{"tool_call": 0, "answer": 0}, {"think": 2}, {"think": "yes"}, {"answer": float("nan")}]


@pytest.mark.parametrize("bad", BAD)
def test_bad_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"reward\.weights"):
        BinaryOptions(**bad)
