"""The two styles: what is shown, what is read, and that what one writes it reads back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.data.tests.needs import needs_package
from environment.session.turns import AssistantTurn
from evaluation.suites.bfcl.play import beyond_context
from evaluation.suites.bfcl.styles import Functions, Prompting, Style

DOCUMENTS: list[dict[str, Any]] = [
    {"name": name, "description": "Does it.", "parameters": {"type": "dict", "properties": {}, "required": []}}
    for name in ("find", "shop.find")
]
STYLES: list[Style] = [Prompting(), Functions()]

scalars = st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | st.text(max_size=8)
objects = st.dictionaries(st.sampled_from("abc"), scalars, max_size=2)
arguments = st.dictionaries(st.sampled_from(["a", "b_c"]), scalars | objects | st.lists(scalars | objects, max_size=3))
calls = st.lists(arguments.map(lambda given: {"find": given}), min_size=1, max_size=3)


@pytest.mark.parametrize("style", STYLES, ids=["prompting", "functions"])
@given(made=calls)
def test_what_a_style_writes_it_reads(style: Style, made: list[dict[str, dict[str, Any]]]) -> None:
    assert style.read(style.write(made, "simple_python"), DOCUMENTS, "simple_python") == made


@pytest.mark.parametrize("style", STYLES, ids=["prompting", "functions"])
@given(text=st.text(max_size=200))
def test_any_text_is_read_as_calls_or_as_none(style: Style, text: str) -> None:
    for category in ("simple_python", "simple_java"):
        found = style.read(text, DOCUMENTS, category)
        assert found is None or all(len(call) == 1 for call in found)


@pytest.mark.parametrize("style", STYLES, ids=["prompting", "functions"])
@pytest.mark.parametrize("category", ["simple_java", "simple_javascript"])
def test_source_text_is_read_as_it_was_written(style: Style, category: str) -> None:
    made = [{"shop.find": {"a": "plain", "b": "true", "c": "new int[]{1, 2}", "d": 'new X("y")', "e": "{k: 1, l: 2}"}}]
    assert style.read(style.write(made, category), DOCUMENTS, category) == made


def test_a_closed_thought_before_the_calls_is_passed_over() -> None:
    thought = "<think>I could call [find()] twice.</think>\n"
    assert Prompting().read(thought + "[find(a=1)]", DOCUMENTS, "simple_python") == [{"find": {"a": 1}}]
    block = '<tool_call>{"name": "find", "arguments": {"a": 1}}</tool_call>'
    assert Functions().read(thought + block, DOCUMENTS, "simple_python") == [{"find": {"a": 1}}]


@pytest.mark.parametrize("call_format", ["hermes", "llama3_json", "python", "xml"])
def test_function_calls_in_the_text_of_any_format(call_format: str) -> None:
    texts = {
        "hermes": '<tool_call>{"name": "shop_find", "arguments": {"a": "x"}}</tool_call>',
        "llama3_json": '{"name": "shop_find", "parameters": {"a": "x"}}',
        "python": '[shop_find(a="x")]',
        "xml": "<function=shop_find><parameter=a>x</parameter></function>",
    }
    assert Functions(call_format).read(texts[call_format], DOCUMENTS, "simple_python") == [{"shop.find": {"a": "x"}}]


def test_results_are_one_message_of_the_user_or_one_of_the_tool_each() -> None:
    made, seen = ["find(a=1)", "find(a='it')"], ['{"x": "y"}', "None"]
    (message,) = Prompting().results(made, seen)
    assert message["role"] == "user" and seen[0] in message["content"] and made[0] in message["content"]
    assert Functions().results(made, seen) == [{"role": "tool", "content": text} for text in seen]


@needs_package
def test_a_system_message_of_the_row_follows_the_prompt_in_one_message() -> None:
    question = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Find it."}]
    system, user = Prompting().opening(question, DOCUMENTS, "live_simple")
    assert system["role"] == "system" and system["content"].endswith("\n\nBe brief.")
    assert json.dumps("shop.find") in system["content"] and user == question[1]
    assert Functions().opening(question, DOCUMENTS, "live_simple") == question
    assert question[0]["content"] == "Be brief."


@pytest.mark.parametrize(
    ("turn", "beyond"),
    [
        (AssistantTurn("", 0, True), True),
        (AssistantTurn("", 0, False), False),
        (AssistantTurn("so far", 9, True), False),
        (AssistantTurn("", 9, True), False),
    ],
)
def test_only_a_turn_that_could_not_begin_is_beyond_the_context(turn: AssistantTurn, beyond: bool) -> None:
    assert beyond_context(turn) == beyond
