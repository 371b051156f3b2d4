"""Python calls: literals and nothing else, each call for itself, no text is ever evaluated."""

from __future__ import annotations

import warnings

import pytest

from BFCL.parse.python_calls import LONGEST, read_python
from BFCL.parse.reading import Block
from environment.core.calls import JsonValue, ParseStatus


def only(text: str) -> Block:
    (block,) = read_python(text).blocks
    return block


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("-1.5", -1.5),
        ("+2", 2),
        ("True", True),
        ("None", None),
        ("true", True),
        ("false", False),
        ("null", None),
        ("(1, 2)", [1, 2]),
        ("[[1], []]", [[1], []]),
        ("{'a': {'b': ()}}", {"a": {"b": []}}),
        ("'a' 'b'", "ab"),
        ('"""x\ny"""', "x\ny"),
        (r"'\u00e9\n'", "é\n"),
        ("'f(x)]'", "f(x)]"),
        ("1_000", 1000),
        ("0x10", 16),
    ],
)
def test_literals(written: str, value: JsonValue) -> None:
    block = only(f"[f(a={written})]")
    assert block.failure is None and block.arguments == {"a": value}
    assert type(block.arguments["a"]) is type(value)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("x", "a variable"),
        ("g(1)", "a call"),
        ("2**3", "an expression"),
        ("{1, 2}", "a set"),
        ("f'{1}'", "a formatted text"),
        ("b'x'", "bytes"),
        ("1j", "complex"),
        ("...", "ellipsis"),
        ("[i for i in y]", "an expression"),
        ("-True", "an expression"),
        ("{1: 2}", "keys of a dict"),
        ("{**x}", "keys of a dict"),
        ("{'k': 1, 'k': 2}", "duplicate key"),
        ("1e999", "out of range"),
        ("99999999999999999999", "out of range"),
        (r"'\ud800'", "surrogate"),
        ("__import__('os').system('true')", "a call"),
        ("open('/etc/passwd').read()", "a call"),
        ("(lambda: 1)()", "a call"),
    ],
)
def test_anything_else_is_refused_where_it_stands(written: str, told: str) -> None:
    text = f"[ok(z=1), f(b=2, a={written}), ok(z=2)]"
    first, block, last = read_python(text).blocks
    assert first.failure is None and last.failure is None
    assert block.name == "f" and block.arguments == {} and block.failure is not None
    assert block.failure.status is ParseStatus.MALFORMED and told in block.failure.reason.lower()
    assert text.index(written) <= block.failure.position <= text.index(written) + len(written)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[f(1)]", "must be named"),
        ("[f(*x)]", "must be named"),
        ("[f(**x)]", "must be named"),
        ("[f(a=1, a=2)]", "duplicate argument a"),
        ("[f(a=1)()]", "is no name"),
        ("[f(a=1), 5]", "is no call"),
        ("[f(a=1) for x in y]", "no list of calls"),
        ("[f(a 1)]", "not Python"),
        ("[f(a=1))]", "not Python"),
    ],
)
def test_forms_that_are_no_call(text: str, told: str) -> None:
    failures = [block.failure for block in read_python(text).blocks if block.failure]
    assert len(failures) == 1 and told in failures[0].reason


def test_places_count_characters_on_every_line() -> None:
    text = '“é”: [é(a="ü",\r\n   b="ö"), g(\n  c=x)]'
    first, second = read_python(text).blocks
    assert text[first.start : first.end] == first.raw == 'é(a="ü",\r\n   b="ö")'
    assert second.failure is not None and text[second.failure.position] == "x"


def test_a_syntax_error_has_its_place() -> None:
    text = "so [f(a=1,\n b= )]"
    block = only(text)
    assert block.failure is not None and block.name == "f"
    assert text.index("\n") < block.failure.position <= len(text)


def test_a_bare_call_needs_no_brackets_but_prose_is_prose() -> None:
    assert only("f(a=1)").arguments == {"a": 1}
    assert [b.name for b in read_python(" <answer>f(a=1), g()</answer> ").blocks] == ["f", "g"]
    for prose in ("see(this)", "f(a=1) is what I call", "max (1, 2)", "f(", "[]", "[1, 2]"):
        assert not [b for b in read_python(prose).blocks if b.failure is None]
    assert read_python("[]").words == "[]"


@pytest.mark.parametrize(
    "opening", ["[f(a=" + "(" * 3000, "[f(a=" + "-" * 90_000 + "1)]", "[f(a=" + "[" * 150 + "]" * 150 + ")]"]
)
def test_deep_nesting_ends_as_a_failure(opening: str) -> None:
    block = only(opening)
    assert block.failure is not None and block.name == "f"


def test_a_list_beyond_all_reason_is_not_parsed() -> None:
    block = only("[f(a='" + "x" * LONGEST + "')]")
    assert block.failure is not None and "longer than" in block.failure.reason


def test_odd_escapes_give_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert only(r"[f(a='\d+')]").arguments == {"a": r"\d+"}
