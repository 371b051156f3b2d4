"""Llama-3 JSON and XML-style calls: where a call begins and ends, and what its values are."""

from __future__ import annotations

import pytest

from BFCL.parse.llama_json import read_llama_json
from BFCL.parse.xml_calls import read_xml
from environment.core.calls import JsonValue, ParseStatus

CALL = '{"name": "f", "parameters": {"a": 1}}'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"<|python_tag|>{CALL}; {CALL}<|eom_id|>", ["f", "f"]),
        (f"[{CALL}, {CALL}]", ["f", "f"]),
        (f"<|python_tag|>[{CALL}]<|eot_id|>", ["f"]),
        ('{"type": "function", "name": "g", "parameters": {}}', ["g"]),
        ('{"name": "g", "arguments": "{}"}', ["g"]),
        ('Rates: {"EUR": 1.1}. ' + CALL, ["f"]),
        ('{"name": "g", "parameters": {"q": "{\\"name\\": \\"h\\"}"}}', ["g"]),
    ],
)
def test_llama_calls(text: str, names: list[str]) -> None:
    reading = read_llama_json(text)
    assert [(b.name, b.failure) for b in reading.blocks] == [(n, None) for n in names]
    assert reading.words in ("", 'Rates: {"EUR": 1.1}.')


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ('{"name": "f", "parameters": {"a": NaN}}', ParseStatus.MALFORMED_JSON, "NaN"),
        ('{"name": "f", "parameters": {"a": 1, "a": 2}}', ParseStatus.MALFORMED_JSON, "duplicate key"),
        ('{"name": "f", "parameters": null}', ParseStatus.NOT_A_CALL, "parameters must be an object"),
        ('{"name": "f"}', ParseStatus.NOT_A_CALL, "no parameters"),
        ('{"name": null, "parameters": {}}', ParseStatus.NOT_A_CALL, "no name"),
        ('{"name": "f", "parameters": {"a": "x', ParseStatus.UNCLOSED, "not closed"),
        ('<|python_tag|>brave_search.call(query="x")', ParseStatus.MALFORMED_JSON, "not JSON"),
        ("<|python_tag|>", ParseStatus.MALFORMED_JSON, "not JSON"),
    ],
)
def test_llama_failures(text: str, status: ParseStatus, told: str) -> None:
    (block,) = read_llama_json(text).blocks
    assert block.failure is not None and block.failure.status is status and told in block.failure.reason
    assert block.arguments == {}


def test_a_failing_call_does_not_swallow_the_next_one() -> None:
    first, second = read_llama_json(f'{{"name": "g", "parameters": {{"a": 1,,}}}} ; {CALL}').blocks
    assert first.failure is not None and second.failure is None


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("Paris", "Paris"),
        ("\nParis\n", "Paris"),
        ("\n\nParis\n", "\nParis"),
        ("5", 5),
        ("-2.5", -2.5),
        ("1.50", "1.50"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("true", True),
        ("null", None),
        ("NaN", "NaN"),
        ('"x"', '"x"'),
        ("", ""),
        ('[1, {"a": 2}]', [1, {"a": 2}]),
        ("{broken", "{broken"),
        ("a < b > c", "a < b > c"),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 2}'),
        ("12345678901234567890123", "12345678901234567890123"),
    ],
)
def test_xml_values(written: str, value: JsonValue) -> None:
    (block,) = read_xml(f"<function=f>\n<parameter=a>{written}</parameter>\n</function>").blocks
    assert block.failure is None and block.arguments == {"a": value}
    assert type(block.arguments["a"]) is type(value)


@pytest.mark.parametrize(
    ("body", "told", "at"),
    [
        ("<parameter=a>1", "parameter a is not closed", None),
        ("<parameter=a>1<parameter=b>2</parameter>", "parameter a is not closed", "<parameter=b>"),
        ("<parameter=a>1</parameter><parameter=a>2</parameter>", "duplicate parameter a", "<parameter=a>2"),
        ("<parameter=>1</parameter>", "without a name", "<parameter=>"),
        ("hello <parameter=a>1</parameter>", "text between", "hello"),
        ("<parameter=a>1</parameter> and", "text between", " and"),
        ('{"a": 1, "a": 2}', "duplicate key", '"a": 2'),
        ("{1}", "not JSON", "1"),
    ],
)
def test_xml_failures(body: str, told: str, at: str | None) -> None:
    text = f"<function=f>{body}</function>"
    (block,) = read_xml(text).blocks
    assert block.failure is not None and told in block.failure.reason and block.name == "f"
    assert at is None or block.failure.position == text.index(at)


def test_xml_blocks_beside_and_inside_each_other() -> None:
    good = "<function=g><parameter=a>1</parameter></function>"
    inner = "<function=f><parameter=a>say </function> twice</function></parameter></function>"
    assert [b.arguments for b in read_xml(inner + good).blocks] == [{"a": "say </function> twice</function>"}, {"a": 1}]
    first, second = read_xml(f"<function=f><parameter=a>1</parameter> {good}").blocks
    assert first.failure is not None and first.failure.status is ParseStatus.UNCLOSED and second.failure is None


def test_xml_wrappers_are_no_words_and_an_empty_one_is_a_call_that_failed() -> None:
    wrapped = "I look. <tool_call>\n<function=f>\n</function>\n</tool_call>"
    assert read_xml(wrapped).words == "I look." and read_xml(wrapped).blocks[0].failure is None
    (block,) = read_xml('<tool_call>{"name": "f"}</tool_call> done').blocks
    assert block.failure is not None and block.failure.status is ParseStatus.NOT_A_CALL
    assert read_xml("</function></parameter> <parameter=a> done").blocks == ()
