"""Lines to verdicts: each line by itself, with its number and its file in what is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.lines import judge_each
from environment.core.errors import DataError


def positive(row: Mapping[str, Any]) -> int:
    if not isinstance(row.get("n"), int):
        raise DataError("no n", got=row, expected="a number", nearest="n", fix="give one")
    return row["n"]


def test_a_byte_order_mark_and_blank_lines_are_passed_over() -> None:
    assert list(judge_each([b'\xef\xbb\xbf{"n": 1}\r\n', b"\n", b"  \n", b'{"n": 2}'], "x", positive)) == [1, 2]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"{torn", "no JSON"),
        (b"\xff\xfe", "no JSON"),
        (b"5", "the line is no row"),
        (b'["n"]', "the line is no row"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"m": 1}', "no n"),
    ],
)
def test_a_line_that_cannot_be_judged_is_told_with_its_place(line: bytes, told: str) -> None:
    good, bad, after = judge_each([b'{"n": 1}', line, b'{"n": 3}'], "rows.jsonl", positive)
    assert (good, after) == (1, 3) and isinstance(bad, DataError)
    assert str(bad).startswith("rows.jsonl line 2: ") and told in str(bad)


def test_all_parts_of_a_problem_are_kept() -> None:
    (told,) = judge_each([b'{"m": 1}'], "x", positive)
    assert isinstance(told, DataError)
    assert (told.expected, told.nearest, told.fix, told.where) == ("a number", "n", "give one", "x line 1")


noise = st.binary(max_size=30).filter(lambda line: not line.startswith(b"\xef"))
numbers = st.integers().map(lambda n: json.dumps({"n": n}).encode())


@given(st.lists(noise | numbers, max_size=8))
def test_every_line_that_is_not_blank_has_one_answer_in_order(lines: list[bytes]) -> None:
    found = list(judge_each(lines, "x", positive))
    assert len(found) == sum(bool(line.strip()) for line in lines)
    assert all(isinstance(each, int | DataError) for each in found)
