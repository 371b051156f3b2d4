"""What was seen when: values as shown, as the same number or text, never another value, never too early."""
from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.flow import Observations, scalar_key
from BFCL.check.tests.moves import MISS, Move, play
from environment.core.trajectory import Observed, Trajectory


def seen(*values: Any, joined: bool = False) -> Observations:
    """Observations of one call a value, one a turn."""
    return Observations(played(*values, joined=joined))


def played(*values: Any, joined: bool = False) -> Trajectory:
    return play([Move("f", {"n": i}, {"x": v}, joined=joined) for i, v in enumerate(values)])


@pytest.mark.parametrize(
    ("shown", "asked", "same"),
    [
        ("id-1", "id-1", True), ("id-1", "ID-1", True), (" a  b ", "a b", True), ("id-1", "id-11", False),
        (880017, "880017", True), ("880017", 880017, True), (880017, 880017.0, True), (39.85, "39.850", True),
        ("39.850", 39.85, True), ("007", "7", True), (7, "7.1", False), (True, 1, False), (1, True, False),
        (True, "true", True), (False, 0, False), (0, "0", True), (1.0, "1", True), ("é", "É", True),
        (None, None, False), ({"a": [1, "b"]}, "b", True), ([], "", False),
    ],
)  # fmt: skip
def test_the_same_value(shown: Any, asked: Any, same: bool) -> None:
    assert seen(shown).before(asked, 1) is same


def test_only_earlier_turns_count() -> None:
    observations = seen("a", "b")
    assert observations.before("a", 1) and not observations.before("b", 1) and observations.before("b", 2)
    assert not observations.before("a", 0)
    assert not seen("a", "b", joined=True).before("b", 0)


def test_the_earliest_showing_counts_in_any_order_of_the_ledger() -> None:
    both = played("a", "a")
    for ledger in (both.ledger, both.ledger[::-1]):
        assert Observations(replace(both, ledger=ledger)).before("a", 1)


def test_every_part_of_an_object_must_have_been_seen() -> None:
    observations = seen("a", 5)
    assert observations.before([{"x": "a", "y": ["5"]}], 2)
    assert not observations.before([{"x": "a", "y": "c"}], 2)
    assert not observations.before([], 2) and not observations.before({}, 2)


def test_failed_answers_and_foreign_calls_show_nothing() -> None:
    failed = Observations(play([Move("f", {}, {"x": "a"}, status=MISS)]))
    assert not failed.before("a", 5) and not failed.shows("a")
    stranger = replace(played("a"), ledger=(Observed("t9c9", "x", "b"), Observed("t0c0", "x", [1, {"y": 2}])))
    assert not Observations(stranger).before("b", 5)


def test_shown_as_written() -> None:
    observations = seen("Hotel Bravo", 120, 39.85, True)
    assert [observations.shows(text) for text in ("Hotel Bravo", "120", "39.85")] == [True] * 3
    assert [observations.shows(text) for text in ("hotel bravo", "12", "")] == [False] * 3


scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("aA 01.-", max_size=4)


@given(st.lists(scalars, max_size=6), scalars)
def test_a_look_up_is_a_comparison_of_keys(shown: list[Any], asked: Any) -> None:
    expected = asked is not None and any(scalar_key(value) == scalar_key(asked) for value in shown)
    assert seen(*shown).before(asked, len(shown)) is expected
