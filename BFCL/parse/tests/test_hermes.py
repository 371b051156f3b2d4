"""Any text is read without an exception, in linear time, and no block is lost."""
from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from BFCL.parse.hermes import MAX_DEPTH, parse_turn
from BFCL.parse.tests.growth import seconds
from environment.core.calls import JsonValue, ParseStatus

OPEN, CLOSE = "<tool_call>", "</tool_call>"
LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    LEAVES | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=8), VALUES, max_size=4)
NAMES = st.text(min_size=1, max_size=20)
SIGNS = [*"{}[]:,\"\\ \n\x00é\ud800", '"name"', '"arguments"', "NaN", "1e999", "9" * 40, '"\\ud800"', "null"]
TAGS = [OPEN, CLOSE, "<think>", "</think>", "<tool_call", '{"name": "f", "arguments": {}}']
FRAGMENTS = st.sampled_from([*SIGNS, *TAGS])


def block(name: str, arguments: JsonValue) -> str:
    return f"{OPEN}{json.dumps({'name': name, 'arguments': arguments})}{CLOSE}"


@settings(max_examples=50)
@given(st.lists(FRAGMENTS | st.text(max_size=5), max_size=30).map("".join))
def test_any_text_is_read_and_every_call_can_be_stored(text: str) -> None:
    parsed = parse_turn(text, 3)
    for position, call in enumerate(parsed.calls):
        assert call.id == f"t3c{position}"
        assert call.turn == 3
        assert (call.problem is None) == (call.status is ParseStatus.OK)
        assert call.raw in text
        orjson.dumps([call.name, call.arguments])
        if call.status is ParseStatus.OK:
            assert call.name


@settings(max_examples=50)
@given(st.lists(st.sampled_from([OPEN, "x", "{", '"', " "]), max_size=25).map("".join))
def test_every_opening_tag_begins_a_call_where_nothing_closes(text: str) -> None:
    parsed = parse_turn(text, 0)
    assert len(parsed.calls) == text.count(OPEN)
    assert all(call.status is ParseStatus.UNCLOSED for call in parsed.calls)


@settings(max_examples=50)
@given(st.lists(st.tuples(NAMES, ARGUMENTS), min_size=1, max_size=4), st.sampled_from(["", " ", "\n", " then "]))
def test_what_is_written_is_read(wanted: list[tuple[str, dict[str, JsonValue]]], between: str) -> None:
    text = between.join(block(name, arguments) for name, arguments in wanted)
    calls = parse_turn(text, 0).calls
    assert [(call.name, call.arguments) for call in calls] == wanted
    assert all(call.status is ParseStatus.OK for call in calls)


@settings(max_examples=50)
@given(NAMES, ARGUMENTS)
def test_arguments_written_as_a_string_are_the_same_call(name: str, arguments: dict[str, JsonValue]) -> None:
    plain, = parse_turn(block(name, arguments), 0).calls
    quoted, = parse_turn(block(name, json.dumps(arguments)), 0).calls
    assert (quoted.status, quoted.name, quoted.arguments) == (plain.status, plain.name, plain.arguments)


@settings(max_examples=50)
@given(st.text(alphabet=st.sampled_from("ab \n"), max_size=10), st.text(alphabet="cd ", max_size=10))
def test_words_around_the_blocks_are_kept_and_blocks_are_not(before: str, after: str) -> None:
    parsed = parse_turn(f"{before}{block('f', {'x': 1})}{after}", 0)
    assert parsed.text.split() == (before + " " + after).split()


@pytest.mark.parametrize("inside", [CLOSE, OPEN, f"{CLOSE}{CLOSE}", f"a {OPEN} b {CLOSE} c"])
def test_tags_inside_a_string_do_not_end_the_block(inside: str) -> None:
    call, = parse_turn(block("f", {"x": inside}), 0).calls
    assert call.status is ParseStatus.OK
    assert call.arguments == {"x": inside}


def test_a_broken_string_does_not_swallow_the_next_call() -> None:
    first, second = parse_turn(f'{OPEN}{{"name": "f{CLOSE}{block("g", {"y": "z"})}', 0).calls
    assert first.status is ParseStatus.MALFORMED_JSON
    assert (second.status, second.name, second.arguments) == (ParseStatus.OK, "g", {"y": "z"})


def test_an_unclosed_block_keeps_what_was_legible() -> None:
    cut = f'{OPEN}{{"name": "Search_Hotels", "arguments": {{"dest_id": "12'
    call, = parse_turn(cut, 0).calls
    assert (call.status, call.name, call.arguments) == (ParseStatus.UNCLOSED, "Search_Hotels", {})
    whole, = parse_turn(block("f", {"x": 1}).removesuffix(CLOSE), 0).calls
    assert (whole.status, whole.name, whole.arguments) == (ParseStatus.UNCLOSED, "f", {"x": 1})


def test_a_nested_opening_tag_leaves_the_outer_block_unclosed() -> None:
    outer, inner = parse_turn(f"{OPEN} {block('f', {})} {CLOSE}", 0).calls
    assert outer.status is ParseStatus.UNCLOSED
    assert (inner.status, inner.name) == (ParseStatus.OK, "f")


@pytest.mark.parametrize(
    ("body", "status", "hint"),
    [
        ("", ParseStatus.MALFORMED_JSON, "not JSON"),
        ("{'name': 'f'}", ParseStatus.MALFORMED_JSON, "not JSON"),
        ('{"name": "f", "arguments": {}} {}', ParseStatus.MALFORMED_JSON, "Extra data"),
        ('{"name": "f", "arguments": {"x": NaN}}', ParseStatus.MALFORMED_JSON, "NaN"),
        ('{"name": "f", "arguments": {"x": -Infinity}}', ParseStatus.MALFORMED_JSON, "Infinity"),
        ('{"name": "f", "arguments": {"x": 1e999}}', ParseStatus.MALFORMED_JSON, "out of range"),
        ('{"name": "f", "arguments": {"x": 99999999999999999999}}', ParseStatus.MALFORMED_JSON, "out of range"),
        ('{"name": "f", "arguments": {"x": "\\ud800"}}', ParseStatus.MALFORMED_JSON, "surrogate"),
        ("5", ParseStatus.NOT_A_CALL, "a number"),
        ("null", ParseStatus.NOT_A_CALL, "null"),
        ('"f"', ParseStatus.NOT_A_CALL, "a string"),
        ('[{"name": "f", "arguments": {}}]', ParseStatus.NOT_A_CALL, "a list"),
        ('{"arguments": {}}', ParseStatus.NOT_A_CALL, "no name"),
        ('{"name": ["f"], "arguments": {}}', ParseStatus.NOT_A_CALL, "no name"),
        ('{"name": "", "arguments": {}}', ParseStatus.NOT_A_CALL, "no name"),
        ('{"name": "f"}', ParseStatus.NOT_A_CALL, "no arguments"),
        ('{"name": "f", "parameters": {}}', ParseStatus.NOT_A_CALL, "no arguments"),
        ('{"name": "f", "arguments": null}', ParseStatus.NOT_A_CALL, "must be an object"),
        ('{"name": "f", "arguments": [1]}', ParseStatus.NOT_A_CALL, "must be an object"),
        ('{"name": "f", "arguments": "x"}', ParseStatus.NOT_A_CALL, "must be an object"),
        ('{"name": "f", "arguments": "[1]"}', ParseStatus.NOT_A_CALL, "must be an object"),
    ],
)
def test_a_bad_body_says_what_is_wrong(body: str, status: ParseStatus, hint: str) -> None:
    call, = parse_turn(f"{OPEN}{body}{CLOSE}", 0).calls
    assert call.status is status
    assert hint in (call.problem or "")
    assert call.arguments == {}
    assert call.name == ("f" if '"name": "f"' in body and not body.startswith("[") else "")


@pytest.mark.parametrize("depth", [MAX_DEPTH - 2, MAX_DEPTH + 1, 5_000])
def test_nesting_is_bounded(depth: int) -> None:
    text = f'{OPEN}{{"name": "f", "arguments": {{"x": {"[" * depth}{"]" * depth}}}}}{CLOSE}'
    call, = parse_turn(text, 0).calls
    assert (call.status is ParseStatus.OK) == (depth < MAX_DEPTH)


def test_reasoning_is_neither_a_call_nor_an_answer() -> None:
    parsed = parse_turn(f"<think>maybe {block('f', {})}</think>\n{block('g', {})} done", 0)
    assert [call.name for call in parsed.calls] == ["g"]
    assert parsed.text == "done"


def test_a_call_after_unclosed_reasoning_counts() -> None:
    call, = parse_turn(f"<think>hm {block('f', {})}", 0).calls
    assert call.status is ParseStatus.OK


def test_a_stray_closing_tag_is_not_a_call() -> None:
    parsed = parse_turn(f"The answer is 4.{CLOSE}", 0)
    assert parsed.calls == ()
    assert parsed.text == "The answer is 4."


@pytest.mark.parametrize(
    "unit", [OPEN, OPEN + '{"', OPEN + '{"a": "x' + CLOSE, '"' + OPEN + '{"a":', CLOSE, "<think>", '"name" ']
)
def test_time_grows_with_the_length_only(unit: str) -> None:
    small, large = (seconds(lambda n=n: parse_turn(OPEN + unit * n, 0)) for n in (1_000, 10_000))
    assert large < 40 * small + 0.2, "ten times the text took far more than ten times as long"
