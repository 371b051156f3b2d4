# pyright: basic
"""Which tokens the entropy reads, whatever way a tokenizer cuts the markers."""
from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.advantages.scope import tokens_in_scope
from training.advantages.settings import EgpoSettings

COT, ALL, TALK = (EgpoSettings(scope=name) for name in ("cot", "assistant", "assistant_non_tool"))


def read(pieces, config=COT, opened=False):
    return ["".join(pieces[a:b]) for a, b in tokens_in_scope(pieces, config, opened)]


@pytest.mark.parametrize(
    ("pieces", "opened", "want"),
    [
        (["<think>", "so", " far", "</think>", "hi"], False, ["so far"]),
        (["<", "think", ">", "so", "</", "think", ">", "hi"], False, ["so"]),
        (["<think>\n", "so", "\n</think>", "hi"], False, ["so"]),  # tokens that share letters with a marker stay out
        (["<think>", "</think>", "hi"], False, []),
        (["<think>", "never", " closed"], False, []),
        (["hi"], False, []),
        ([], False, []),
        (["so", "</think>", "hi"], False, []),
        (["so", "</think>", "hi"], True, ["so"]),
        (["so", "<think>", "x", "</think>"], True, ["x"]),
        (["<think>", "a", "</think>", "b", "<think>", "c", "</think>"], False, ["a", "c"]),
        (["<think>", "a", "<think>", "b", "</think>"], False, ["b"]),
        (["<think>", "a", "</think>", "</think>"], True, ["a"]),
    ],
)
def test_thoughts_are_what_stands_between_closed_markers(pieces, opened, want):
    assert read(pieces, opened=opened) == want


def test_other_scopes():
    pieces = ["I ", "look", "<tool_call>", "{}", "</tool_call>", " ok", "<tool_call>", "{"]
    assert read(pieces, ALL) == ["".join(pieces)]
    assert read(pieces, TALK) == ["I look", " ok"]
    assert read(["a<tool", "_call>{}</tool_call", ">b", "c"], TALK) == ["c"], "a token shared with a call counts to it"
    assert read([], ALL) == [] and read([], TALK) == []


def test_markers_are_a_setting():
    config = EgpoSettings(think=("[R]", "[/R]"))
    assert read(["[R]", "x", "[/R]", "<think>", "y", "</think>"], config) == ["x"]


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="ab<>/think", max_size=60), st.data())
def test_any_cut_of_any_text_gives_tokens_in_order_that_hold_no_marker(text, data):
    text = data.draw(st.sampled_from(["", "<think>"])) + text + data.draw(st.sampled_from(["", "</think>b"]))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=8)) | {0, len(text)})
    pieces = [text[a:b] for a, b in itertools.pairwise(cuts)]
    for config in (COT, ALL, TALK):
        found = tokens_in_scope(pieces, config)
        flat = [edge for pair in found for edge in pair]
        assert flat == sorted(flat) and all(0 <= a < b <= len(pieces) for a, b in found)
    for inside in read(pieces):
        assert "</think>" not in inside and "<think>" not in inside
