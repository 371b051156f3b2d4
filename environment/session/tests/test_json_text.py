"""Compact text, scalars and their paths."""
from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from environment.core.calls import JsonValue
from environment.session.json_text import compact, path_text, plain, scalars

NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=50)
@given(JSON)
def test_compact_text_is_the_value(value: JsonValue) -> None:
    assert json.loads(compact(value)) == value
    assert plain(value) == value


@settings(max_examples=50)
@given(JSON)
def test_scalars_lead_back_to_their_values(value: JsonValue) -> None:
    for path, leaf in scalars(value):
        node = value
        for step in path:
            node = node[step]
        assert node is leaf


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("data", "hotels", 0, "hotel_id"), "data.hotels[0].hotel_id"),
        ((0, "id"), "[0].id"),
        (("a", 1, 2), "a[1][2]"),
    ],
)
def test_paths_read_like_code(path: tuple[str | int, ...], text: str) -> None:
    assert path_text(path) == text
