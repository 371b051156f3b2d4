"""Credit of arguments: full exactly for equal values, shared by the parts of lists and objects, total on any JSON."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.credit import argument_credits, share

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6)
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3))


@given(values, values)
def test_share_is_a_share_and_full_for_itself(one: Any, other: Any) -> None:
    assert share(one, one) == 1.0
    assert 0.0 <= share(one, other) <= 1.0


@pytest.mark.parametrize("pair", [(1, True), (0, False), ("1", 1), ("", None), ([], {}), ("id-a", "ID-A")])
def test_like_is_not_equal(pair: tuple[Any, Any]) -> None:
    one, other = pair
    assert share(one, other) == share(other, one) == 0.0


def test_one_wrong_place_in_two_legs_costs_a_quarter() -> None:
    legs = [{"from": "A", "to": "B"}, {"from": "B", "to": "C"}]
    assert share(legs, [{"from": "A", "to": "B"}, {"from": "B", "to": "X"}]) == 0.75


def test_invented_and_forgotten_arguments_both_stand_at_zero() -> None:
    credits = argument_credits({"a": 1, "b": 2}, {"a": 1, "c": 3}, frozenset("b"))
    assert [(c.name, c.value, c.typed, c.derived) for c in credits] == [
        ("a", 1.0, True, False),
        ("b", 0.0, False, True),
        ("c", 0.0, False, False),
    ]


def test_values_beyond_reason_are_equal_to_nothing() -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    assert share(deep, deep) == 0.0
