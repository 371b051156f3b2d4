"""The two published forms: what is one, what nearly is, and that no text breaks the reading."""
# pyright: basic
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.tests.moves import chain, gold_moves, play
from training.reward.form import answer_calls, assistant_turns, tool_call_form

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
THOUGHT = "<think>I look it up.</think>"


@pytest.mark.parametrize(
    ("turn", "free", "thinking"),
    [
        (CALL, True, False),
        (THOUGHT + CALL, True, True),
        (f"  {THOUGHT}\n{CALL}\n{CALL}\n", True, True),
        ("It is sunny.", True, False),
        (THOUGHT + "It is sunny.", True, True),
        (THOUGHT, True, True),
        ("", True, False),
        ("Wait. " + CALL, False, False),
        (CALL + " done", False, False),
        (CALL + THOUGHT, False, False),
        ("<think>open " + CALL, False, False),
        (f"<think>{CALL}</think>{CALL}", False, False),
        (f"<tool_call>{CALL}</tool_call>", False, False),
        (CALL[:-5], False, False),
        (CALL.replace("1", "NaN"), False, False),
        ("<tool_response>{}</tool_response>", False, False),
        ("</tool_call>", False, False),
        ("fine <|im_end|>", False, False),
    ],
)
def test_one_turn(turn: str, free: bool, thinking: bool) -> None:
    assert tool_call_form([turn], think=False) is free
    assert tool_call_form([turn], think=True) is thinking


def test_every_turn_counts_and_none_is_no_form() -> None:
    assert tool_call_form([CALL, "done"], think=False)
    assert not tool_call_form([CALL, "done <answer>"], think=False)
    assert not tool_call_form([], think=False)


@pytest.mark.parametrize(
    ("turn", "names"),
    [
        (THOUGHT + "<answer>[f(a=1), g()]</answer>", ["f", "g"]),
        (f"\n{THOUGHT}\n<answer> [f(a=1)] </answer>\n", ["f"]),
        (THOUGHT + "<answer>[]</answer>", []),
        (THOUGHT + "<answer>[ ]</answer>", []),
        (THOUGHT + "<answer>f(a=1)</answer>", None),
        (THOUGHT + "<answer>[1, 2]</answer>", None),
        (THOUGHT + "<answer>[f(a=1)] and [g()]</answer>", None),
        (THOUGHT + "<answer>[f(a=b)]</answer>", None),
        (THOUGHT + "<answer>[f(a=1)]</answer><answer>[g()]</answer>", None),
        (THOUGHT + THOUGHT + "<answer>[f(a=1)]</answer>", None),
        ("<answer>[f(a=1)]</answer>", None),
        (THOUGHT + f"<answer>{CALL}</answer>", None),
    ],
)
def test_an_answer(turn: str, names: list[str] | None) -> None:
    found = answer_calls([turn])
    assert (None if found is None else [block.name for block in found]) == names
    assert answer_calls([turn, turn]) is None


def test_turns_are_what_the_assistant_wrote() -> None:
    task, responses = chain(3)
    turns = assistant_turns(play(gold_moves(task, responses)))
    assert len(turns) == 3 and all(turn.startswith("<tool_call>") for turn in turns)


marks = st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", CALL, "[f(a=1)]", "[", "]", "x", "\n"])


@given(st.lists(marks | st.text(max_size=4), max_size=8).map("".join), st.booleans())
def test_any_text_has_a_form_or_not(turn: str, think: bool) -> None:
    assert tool_call_form([turn], think) in (True, False)
    assert not (tool_call_form([turn], think=True) and not tool_call_form([turn], think=False))
    found = answer_calls([turn])
    assert found is None or all(block.failure is None for block in found)
