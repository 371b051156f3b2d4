"""Reading calls: what any value becomes, and that nothing is lost, run or guessed."""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_synthesis.single_turn.calls import literal, read_calls, read_json
from data_synthesis.single_turn.model import Call, Drop

names = st.from_regex(r"[A-Za-z][A-Za-z0-9_. /-]{0,20}[A-Za-z0-9]", fullmatch=True)
arguments = st.from_regex(r"[a-z_][A-Za-z0-9_-]{0,12}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
calls = st.lists(st.builds(Call, names, st.dictionaries(arguments, values, max_size=4)), min_size=1, max_size=3)


def bracket(call: Call) -> str:
    """Write a call as ToolACE does."""
    return f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"


@given(calls)
def test_bracket_calls_come_back_as_they_were_written(made: list[Call]) -> None:
    text = f"[{', '.join(map(bracket, made))}]"
    assert list(read_calls(text)) == made
    assert repr([c.arguments for c in read_calls(text)]) == repr([c.arguments for c in made])  # 1, 1.0 and True differ


@given(calls)
def test_json_calls_come_back_as_they_were_written(made: list[Call]) -> None:
    assert list(read_calls(json.dumps([call.to_json() for call in made]))) == made


@given(calls)
def test_openai_calls_carry_their_arguments_as_text(made: list[Call]) -> None:
    wrapped = [{"function": {"name": c.name, "arguments": json.dumps(c.arguments)}, "type": "function"} for c in made]
    assert list(read_calls(json.dumps(wrapped))) == made


@given(st.text())
def test_any_text_is_calls_or_a_reason(text: str) -> None:
    try:
        assert read_calls(text)
    except Drop as drop:
        assert drop.reason and drop.detail


def test_words_of_python_and_odd_names_are_names_like_any_other() -> None:
    (call,) = read_calls('[Get Flights/v2(from="Oslo", class=\'first\', x-key=3, in=[1, 2.50])]')
    assert call == Call("Get Flights/v2", {"from": "Oslo", "class": "first", "x-key": 3, "in": [1, 2.5]})


def test_no_number_list_or_truth_value_is_lost() -> None:
    (call,) = read_calls('[f(a=-5, b=1.5e3, c=[true, False, null], d={"k": (1, "x")}, e=1234567890123456789, g=+.5)]')
    expected = {"a": -5, "b": 1500.0, "c": [True, False, None], "d": {"k": [1, "x"]}, "g": 0.5}
    assert call.arguments == {**expected, "e": 1234567890123456789}


def test_digits_survive_json() -> None:
    (call,) = read_calls('[{"name": "f", "arguments": {"id": 1234567890123456789}}]')
    assert call.arguments["id"] == 1234567890123456789


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[f(a="x, y) [", b="it\'s")]', {"a": "x, y) [", "b": "it's"}),
        (r'[f(a="say \"hi\"")]', {"a": 'say "hi"'}),
        (r'[f(a="\d+")]', {"a": r"\d+"}),
        ('[f(a="""two\nlines""")]', {"a": "two\nlines"}),
        ("[f()]", {}),
        ("f(a=1)", {"a": 1}),
        ("[f(a=1,),]", {"a": 1}),
        ('[f(a="x" "y")]', {"a": "xy"}),
    ],
)
def test_quotes_commas_and_brackets_inside_values(text: str, expected: dict[str, Any]) -> None:
    assert read_calls(text)[0].arguments == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_call"),
        ("[]", "no_call"),
        ("I can't do that (sorry).", "no_call"),
        ("No tool fits.", "no_call"),
        ('[f("Oslo")]', "no_name"),
        ("[f(**{'a': 1})]", "no_name"),
        ("[f(a=1, a=2)]", "name_twice"),
        ("[f(a={'x': 1, 'x': 2})]", "not_literal"),
        ('[{"name": "f", "arguments": {"a": 1, "a": 2}}]', "refused_json"),
        ("[f(a=open('x').read())]", "not_literal"),
        ("[f(a=__import__('os').system('true'))]", "not_literal"),
        ("[f(a=x)]", "not_literal"),
        ("[f(a=[y for y in (1,)])]", "not_literal"),
        ("[f(a=f'{1}')]", "not_literal"),
        ("[f(a=b'x')]", "not_literal"),
        ("[f(a=1+2)]", "not_literal"),
        ("[f(a={1, 2})]", "not_literal"),
        ("[f(a=1e999)]", "not_literal"),
        ("[f(a=-True)]", "not_literal"),
        ("[f(a=007)]", "not_literal"),
        ("[f(a=1", "unbalanced"),
        ("[f(a='x)]", "unbalanced"),
        ("[f(a=[1)]", "unbalanced"),
        ("[f(a=1) g(b=2)]", "not_a_call"),
        ('[{"name": "f"}]', "not_a_call"),
        ('[{"name": "f", "arguments": [1]}]', "not_a_call"),
        ('[{"name": "", "arguments": {}}]', "not_a_call"),
        ("[3]", "not_a_call"),
        ('[{"name": "f", "arguments": "{"}]', "broken_json"),
        ('[{"name": "f", "arguments": {"a": NaN}}]', "refused_json"),
        ('[{"name": "f", "arguments": {"a": 1e999}}]', "refused_json"),
        ('[{"name": "f", "arguments": {"a": 12345678901234567890123}}]', "refused_json"),
        ("[f(a=12345678901234567890123)]", "not_literal"),
    ],
)
def test_what_is_no_call_says_why(text: str, reason: str) -> None:
    with pytest.raises(Drop) as caught:
        read_calls(text)
    assert caught.value.reason == reason


def test_reading_runs_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    for value in (f"open({str(mark)!r}, 'w')", f"[open({str(mark)!r}, 'w')]", f"{{'a': open({str(mark)!r}, 'w')}}"):
        with pytest.raises(Drop):
            literal(value)
    assert not mark.exists()


@pytest.mark.parametrize("text", ["[" * 200_000, "f(a=" + "(" * 200_000, "f(a=" + "-" * 50_000 + "1)", "{" * 200_000])
def test_nesting_without_end_is_a_reason(text: str) -> None:
    with pytest.raises(Drop):
        read_calls(text)


def test_time_is_linear() -> None:
    started = time.monotonic()
    many = ", ".join(f"f{n}(a='{'x' * 50}', b=[1, 2, 3])" for n in range(5000))
    assert len(read_calls(f"[{many}]")) == 5000
    assert time.monotonic() - started < 5


def test_json_of_rows_keeps_names_given_twice_from_passing() -> None:
    with pytest.raises(Drop, match="duplicate"):
        read_json('{"query": "a", "query": "b"}')
