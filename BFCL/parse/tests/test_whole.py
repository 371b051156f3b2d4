# pyright: basic
"""Whole answers as calls: the leaderboard's rule for prompting, and nothing evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.parse.one_call import OneCall, read_call
from BFCL.parse.tests.growth import seconds
from BFCL.parse.whole import read_whole


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[f(a=1)]", [{"f": {"a": 1}}]),
        ("f(a=1)", [{"f": {"a": 1}}]),
        ("```\n[f(a=1), a.b.g()]\n```", [{"f": {"a": 1}}, {"a.b.g": {}}]),
        ("f(a=1), f(a=2)", [{"f": {"a": 1}}, {"f": {"a": 2}}]),
        ("'[f(a=1)]'", None),
        ("[]", []),
        ("[f(a='x', b=[1, 2.5], c={'k': None})]", [{"f": {"a": "x", "b": [1, 2.5], "c": {"k": None}}}]),
        ("[f(d=-3, e=(1, 2))]", [{"f": {"d": -3, "e": [1, 2]}}]),
        ("[f(a=celsius, b=true, c=...)]", [{"f": {"a": "celsius", "b": "true", "c": "..."}}]),
        ("[f(a=g(1), b=x[0], c=g(k=2))]", [{"f": {"a": "g(1)", "b": "x[0]", "c": {"g": {"k": 2}}}}]),
        ("[f(a=2*3+1, b=7/2)]", [{"f": {"a": 7, "b": 3.5}}]),
        ("[f(a=6.0*10**2, b=7%4//2, c='x' + 'y')]", [{"f": {"a": 600.0, "b": 1, "c": "xy"}}]),
        ("[f(a=(-8)**0.5)]", None),
        ("[f(a=1e308*10)]", None),
        ("[f(a='x'*99)]", None),
        ("[f(a=2**3000)]", None),
        ("[f(a=((2**2000)**2000))]", None),
        ("[f('position', a=1)]", [{"f": {"a": 1}}]),
        ("I call [f(a=1)]", None),
        ("[f(a=1)] as asked", None),
        ("```python\n[f(a=1)]\n```", None),
        ("There is no such function.", None),
        ("[f(a=1), 5]", None),
        ("[f(a=1/0)]", None),
        ("[f(a=9**9**9)]", None),
        ("[f(a=lambda: 1)]", None),
        ("[f(a={1: 2})]", None),
        ("[f(a=1", None),
        ("", []),
    ],
)
def test_a_text_is_a_list_of_calls_or_none(text: str, calls: Any) -> None:
    assert read_whole(text) == calls


@pytest.mark.parametrize("language", ["java", "javascript"])
@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("[A.b(x=1)]", [{"A.b": {"x": "1"}}]),
        ("A.b(x=1);", [{"A.b": {"x": "1"}}]),
        ("[A.b(x=1);]", [{"A.b": {"x": "1"}}]),
        ('[f(a="x, y=2", b=\'c\')]', [{"f": {"a": "x, y=2", "b": "c"}}]),
        ("[f(a=new Map<K, V>(), b=true)]", [{"f": {"a": "new Map<K, V>()", "b": "true"}}]),
        ("[f(a=[1, 2], b={k: 'v', l: 2})]", [{"f": {"a": "[1, 2]", "b": "{k: 'v', l: 2}"}}]),
        ('[f(a="x" + "y")]', [{"f": {"a": '"x" + "y"'}}]),
        ('[f(a="say \\"x\\"")]', [{"f": {"a": 'say \\"x\\"'}}]),
        ("[f(a=(x) => x == 1)]", [{"f": {"a": "(x) => x == 1"}}]),
        ("[f()]", [{"f": {}}]),
        ("[f(1)]", None),
        ("[f(a=1, a=2)]", None),
        ("[f(a=(1)]", None),
        ('[f(a="1)]', None),
        ("no call", None),
    ],
)
def test_source_text_is_split_at_its_outer_commas(text: str, calls: Any, language: str) -> None:
    assert read_whole(text, language) == calls


@given(st.text(), st.sampled_from(["python", "java", "javascript"]))
def test_any_text_is_read(text: str, language: str) -> None:
    assert read_whole(text, language) is None or isinstance(read_whole(text, language), list)


def test_nothing_is_evaluated(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    evil = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    for language in ("python", "java", "javascript"):
        read_whole(f"[f(a={evil})]", language)
        read_whole(f"[f(a={evil} + {evil})]", language)
    assert not mark.exists()


@pytest.mark.parametrize("piece", ["a=1,", "(", "[", '"', "x" * 9 + ",", " "])
def test_source_is_read_in_linear_time(piece: str) -> None:
    short, long = ("f(" + piece * size + ")" for size in (1000, 8000))
    assert seconds(lambda: read_whole(long, "java")) < 12 * seconds(lambda: read_whole(short, "java")) + 0.25


def test_one_call_may_have_arguments_by_position() -> None:
    assert read_call(" f(1, 'x', k=[True, (2,)]) ") == OneCall("f", [1, "x"], {"k": [True, [2]]})
    assert read_call("a.b()") == OneCall("a.b")


@pytest.mark.parametrize(
    "text", ["", "f", "f(", "f(g())", "f(*[1])", "f(**{'a': 1})", "f(a=x)", "f(a=1, a=2)", "[f()]", "f() + g()"]
)
def test_what_is_no_call_is_told_in_words(text: str) -> None:
    told = read_call(text)
    assert isinstance(told, str) and told
