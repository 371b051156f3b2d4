# pyright: basic
"""The truth table of the four states, and what holds for any text."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from BFCL.check.structure import TurnState, turn_shape, turn_state

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
IN_STRING = '<tool_call>{"name": "f", "arguments": {"a": "</tool_call> <think>"}}</tool_call>'


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (CALL, "healthy_call"),
        (f"Let me look.\n{CALL}", "healthy_call"),
        (f"{CALL}\n{CALL}", "healthy_call"),
        (f"<think>which <tool_call> to make</think>\n{CALL}", "healthy_call"),
        (IN_STRING, "healthy_call"),
        ("The hotel costs 90 EUR.", "healthy_text"),
        ("<think>hm</think>It is 3 < 4.", "healthy_text"),
        ("a <b> c </b> tool_call", "healthy_text"),
        ('<tool_call>{"name": "f", "arguments": {}}', "polluted"),
        ("<tool_call>{not json}</tool_call>", "polluted"),
        ("<tool_call>{}</tool_call>", "polluted"),
        ("The answer is </tool_call> 90.", "polluted"),
        ("The answer <|im_end|> is 90.", "polluted"),
        (f"{CALL}</tool_call>", "polluted"),
        (f"<tool_call>{CALL}", "polluted"),
        ("<think>never closed", "polluted"),
        ("words <think>late</think>", "polluted"),
        (f"{CALL} <tool_response>90</tool_response>", "polluted"),
        ("<tool_call>", "collapsed"),
        ("<tool_call>\n<|im_end|>", "collapsed"),
        ("<tool_call></tool_call>", "collapsed"),
        ("<tool_call>" * 40, "collapsed"),
        ("", "collapsed"),
        (" \n", "collapsed"),
        ("<think>so much</think>", "collapsed"),
        ("<|im_start|><|im_end|>", "collapsed"),
    ],
)
def test_truth_table(text, state):
    assert turn_state(text) == TurnState(state)


@pytest.mark.parametrize(
    ("text", "opened", "closed", "empty", "ended"),
    [
        (CALL, 1, 1, 0, False),
        ("<tool_call>", 1, 0, 0, True),
        ("I look <tool_call>\n<|im_end|>", 1, 0, 0, True),
        (f"{CALL}<tool_call> ", 2, 1, 0, True),
        ("<tool_call></tool_call>", 1, 1, 1, False),
        ("<tool_call>{", 1, 0, 0, False),
        ("<think><tool_call></think>", 0, 0, 0, False),
    ],
)
def test_counts_behind_the_early_warning(text, opened, closed, empty, ended):
    shape = turn_shape(text)
    assert (shape.opened, shape.closed, shape.empty, shape.ended_after_open) == (opened, closed, empty, ended)


TAGS = ["<tool_call>", "</tool_call>", "<think>", "</think>", "<|im_end|>"]
PIECES = [*TAGS, "{", '{"name": "f", "arguments": {}}', "a", " "]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join) | st.text(max_size=30))
def test_any_text_has_a_state_that_fits_what_is_in_it(text):
    state = turn_state(text)
    if state is TurnState.HEALTHY_TEXT:
        assert "<tool_call>" not in text.rpartition("</think>")[2]
    if state is TurnState.HEALTHY_CALL:
        assert text.count("</tool_call>") >= 1
    words = text.replace("<", "").strip()
    if words and "<" not in text:
        assert state is TurnState.HEALTHY_TEXT


def test_a_long_turn_of_tags_takes_no_longer_than_its_length():
    assert turn_state("<tool_call> " * 20_000) is TurnState.COLLAPSED
    assert turn_state("<tool_call>{" * 20_000) is TurnState.POLLUTED
