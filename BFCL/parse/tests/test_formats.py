"""Every format: any text is read, nothing is lost, failures have a place and a reason, time is linear."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.parse.formats import FORMATS, parser, reader
from BFCL.parse.tests.growth import seconds
from environment.core.calls import JsonValue, ParseStatus
from environment.core.errors import ConfigError

HERMES = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
LLAMA = '{"name": "f", "parameters": {"a": 1}}'
PYTHON = "[f(a=1)]"
XML = "<function=f><parameter=a>1</parameter></function>"
GOOD = {"hermes": HERMES, "llama3_json": LLAMA, "python": PYTHON, "xml": XML}
PIECES = [
    *GOOD.values(),
    "<tool_call>",
    "</tool_call>",
    "<|python_tag|>",
    "<|eom_id|>",
    "<function=g>",
    "</function>",
    "<parameter=b>",
    "</parameter>",
    "[f(",
    "g(b=",
    '{"name"',
    ":",
    '"',
    "'",
    "\\",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "<think>",
    "</think>",
    "null",
    "NaN",
    "1e999",
    "9" * 30,
    "\ufeff",
    "\x00",
    "\ud800",
    "é",
    "\n",
    "\r\n",
    "lambda:",
    "**",
    "'''",
]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=25).map("".join)
formats = pytest.mark.parametrize("name", FORMATS)


@formats
@given(text=texts)
def test_any_text_is_read(name: str, text: str) -> None:
    reading = reader(name)(text)
    end = 0
    for block in reading.blocks:
        assert end <= block.start <= block.end <= len(text)
        assert block.raw in text or name == "python"
        end = block.end
        orjson.dumps([block.name.encode("utf-8", "replace").decode(), block.arguments])
        if block.failure is None:
            assert block.name
        else:
            assert block.failure.status is not ParseStatus.OK and block.failure.reason
            assert 0 <= block.failure.position <= len(text)


@formats
@given(text=texts)
def test_a_session_gets_the_same_calls(name: str, text: str) -> None:
    reading, turn = reader(name)(text), parser(name)(text, 3)
    assert [call.id for call in turn.calls] == [f"t3c{i}" for i in range(len(reading.blocks))]
    assert turn.text == reading.words
    for call, block in zip(turn.calls, reading.blocks, strict=True):
        assert (call.raw, call.name, call.arguments) == (block.raw, block.name, block.arguments)
        assert (call.status is ParseStatus.OK) == (block.failure is None) == (call.problem is None)


@formats
@pytest.mark.parametrize(("before", "after"), [("", ""), ("I look it up: ", " and say."), ("\ufeff", ""), ("\n", "\n")])
def test_a_good_call_with_prose_around(name: str, before: str, after: str) -> None:
    reading = reader(name)(before + GOOD[name] + after)
    (block,) = reading.blocks
    assert (block.name, block.arguments, block.failure) == ("f", {"a": 1}, None)
    assert reading.words.strip("\ufeff") == " ".join(f"{before.strip()} {after.strip()}".split()).strip("\ufeff ")


@formats
def test_calls_in_reasoning_are_no_calls(name: str) -> None:
    reading = reader(name)(f"<think>maybe {GOOD[name]}</think>{GOOD[name]}")
    assert len(reading.blocks) == 1 and "maybe" not in reading.words


@formats
def test_prose_alone_has_no_call(name: str) -> None:
    prose = 'A room (with a view) costs {120} a night [see below], i.e. "cheap" - isn\'t it? 3 < 5 > 2.'
    assert reader(name)(prose) == reader(name)(prose)
    assert not reader(name)(prose).blocks and reader(name)(prose).words == prose


@formats
def test_a_call_that_is_cut_off_is_one_unclosed_call(name: str) -> None:
    for cut in range(len(GOOD[name]) - 4, len(GOOD[name])):
        blocks = reader(name)("See: " + GOOD[name][:cut]).blocks
        assert len(blocks) == 1 and blocks[0].failure is not None
        assert blocks[0].failure.status is ParseStatus.UNCLOSED


LEAVES = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    LEAVES | st.text("ab \n'\"\\<>{}é", max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy ", max_size=3), inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(st.sampled_from(["a", "b_c", "d2"]), VALUES, max_size=3)
CALLS = st.lists(st.tuples(st.sampled_from(["f", "g.h", "Search_2"]), ARGUMENTS), min_size=1, max_size=3)


@given(CALLS)
def test_what_is_written_in_python_is_read(calls: list[tuple[str, dict[str, JsonValue]]]) -> None:
    text = ", ".join(f"{name}({', '.join(f'{k}={v!r}' for k, v in given.items())})" for name, given in calls)
    blocks = reader("python")(f"[{text}]").blocks
    assert [(b.name, b.arguments, b.failure) for b in blocks] == [(n, a, None) for n, a in calls]


@given(CALLS, st.sampled_from(["; ", ",", "\n"]))
def test_what_is_written_for_llama_is_read(calls: list[tuple[str, dict[str, JsonValue]]], between: str) -> None:
    text = between.join(json.dumps({"name": n, "parameters": a}) for n, a in calls)
    blocks = reader("llama3_json")(f"<|python_tag|>{text}<|eom_id|>").blocks
    assert [(b.name, b.arguments, b.failure) for b in blocks] == [(n, a, None) for n, a in calls]


@formats
def test_time_grows_with_the_text_and_not_faster(name: str) -> None:
    read = reader(name)
    for piece in [
        GOOD[name],
        "<tool_call>",
        "[f(",
        '{"name":"',
        "[f(a='",
        "<function=f>",
        "<parameter=a>",
        '{"name":{',
        "[ ",
    ]:
        short, long = piece * 1000, piece * 8000
        assert seconds(lambda text=long: read(text)) < 12 * seconds(lambda text=short: read(text)) + 0.25


def test_an_unknown_format_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        reader("hermmes")
    assert caught.value.nearest == "hermes"
