"""Strict JSON: what has no single, storable meaning is refused at the character that makes it so."""

from __future__ import annotations

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.parse.reading import MAX_DEPTH
from BFCL.parse.strict_json import JsonTrouble, balanced_end, loads


@pytest.mark.parametrize(
    ("text", "at", "reason"),
    [
        ('{"a": NaN}', "NaN", "NaN is not JSON"),
        ('{"n": "NaN", "a": [1, -Infinity]}', "-Infinity", "-Infinity is not JSON"),
        ('{"a": 1e999}', "1e999", "number out of range"),
        ('{"a": 99999999999999999999}', "99999999999999999999", "number out of range"),
        ('{"a": "x", "b": {"a": 1}, "a": 2}', '"a": 2', 'duplicate key "a"'),
        ('{"b": [{"x": 1, "x": 1}]}', '"x": 1}', 'duplicate key "x"'),
        ('{"a": "\\ud800"}', '"\\ud800"', "unpaired surrogate in a string"),
        ('{"\\udfff": 1}', '"\\udfff"', "unpaired surrogate in a string"),
    ],
)
def test_trouble_has_its_place(text: str, at: str, reason: str) -> None:
    with pytest.raises(JsonTrouble) as caught:
        loads(text)
    assert (caught.value.reason, caught.value.position) == (reason, text.index(at))


def test_text_that_is_no_json_says_where() -> None:
    with pytest.raises(JsonTrouble) as caught:
        loads('{"a": 1,, "b": 2}')
    assert caught.value.position == 8 and "at character 8" in caught.value.reason
    with pytest.raises(JsonTrouble) as caught:
        loads('{"a": "open')
    assert caught.value.in_string


@pytest.mark.parametrize("depth", [MAX_DEPTH + 2, 500, 200_000])
def test_deep_nesting_is_refused_and_not_survived_by_luck(depth: int) -> None:
    with pytest.raises(JsonTrouble, match="nested too deeply"):
        loads("[" * depth + "]" * depth)
    assert loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)) is not None


def test_a_byte_order_mark_is_skipped_and_places_stay() -> None:
    assert loads('\ufeff{"a": 1}') == loads(' \ufeff{"a": 1}') == {"a": 1}
    with pytest.raises(JsonTrouble) as caught:
        loads('\ufeff{"a": NaN}')
    assert caught.value.position == 7
    assert loads('{"a": "\ufeff"}') == {"a": "\ufeff"}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=4), v, max_size=3),
    max_leaves=10,
)


@given(json_values)
def test_everything_storable_is_taken_as_it_is(value: object) -> None:
    assert loads(json.dumps(value)) == value
    orjson.dumps(loads(json.dumps(value)))


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=3), st.text(max_size=6))
def test_the_end_of_an_object_is_found_among_brackets_in_strings(value: dict[str, object], tail: str) -> None:
    text = json.dumps(value)
    assert balanced_end(text + tail, 0) == len(text)
    assert balanced_end(text[:-1], 0) is None


@given(st.text('{}[]",:\\ aN1', max_size=20))
def test_any_text_is_taken_or_refused_with_a_place(text: str) -> None:
    try:
        loads(text)
    except JsonTrouble as trouble:
        assert 0 <= trouble.position <= len(text) and trouble.reason
