"""What a query supports: every form a value may be said in, and nothing that is not there."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_synthesis.single_turn.model import Call, Item
from data_synthesis.single_turn.support import Query, supports, unsupported
from data_synthesis.single_turn.tools import read_tools


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("the weather in Paris", "Paris"), ("the weather in paris?", "PARIS"), ("a trip to São Paulo", "são paulo"),
        ("divide 10 by 4", 10), ("costs 1,250.50 dollars", 1250.5), ("a 5% tip", 0.05), ("a 5% tip", 5),
        ("it lost 3 degrees", -3), ("below -3 degrees", -3), ("for two adults", 2), ("twenty-five people", 25),
        ("about 2.5 million views", 2_500_000), ("a 30k salary", 30000), ("three dozen eggs", 3), ("2 dozen eggs", 24),
        ("on the 3rd floor", 3), ("on March 5, 2026", "2026-03-05"), ("on 5 March 2026", "2026-03-05"),
        ("on 2026-03-05", "2026-03-05"), ("at 7 pm", "19:00"), ("at 7:30 pm", "19:30:00"), ("in March", 3),
        ("the United States of America", "USA"), ("from New York", "NY"), ("in the European Union", "eu"),
        ("movies by Christopher Nolan", "christopher-nolan"), ("running shoes", "RunningShoe"),
        ("the first 20 results", "20"), ("mail it to a.b@example.com", "a.b@example.com"), ("anything", True),
        ("anything", None), ("anything", ""), ("room 12B", "12b"), ("convert usd to eur", "EUR"), ("half a cup", 0.5),
    ],
)  # fmt: skip
def test_supported(query: str, value: Any) -> None:
    assert supports(Query(query), value)


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("the weather in Paris", "Rome"), ("the weather in Parish", "Paris"), ("divide 10 by 4", 40), ("10 by 4", 1),
        ("on March 5, 2026", "2026-03-06"), ("at 7 pm", "07:00"), ("two adults", 3), ("a word", "another"),
        ("version 1.25", 25), ("in 2026", 26), ("", 1), ("", "x"), ("twenty people", 25),
    ],
)  # fmt: skip
def test_unsupported(query: str, value: Any) -> None:
    assert not supports(Query(query), value)


@given(st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6).map(lambda x: round(x, 3)))
def test_a_number_that_is_written_is_supported(value: float) -> None:
    assert supports(Query(f"Use {value:f} here." if isinstance(value, float) else f"Use {value} here."), value)


@given(st.text(), st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_total(query: str, value: Any) -> None:
    assert supports(Query(query), value) in (True, False)


def test_leaves_of_lists_and_objects_are_asked_for_one_by_one_but_not_choices_or_defaults() -> None:
    parameters = {
        "cities": {"type": "List[str]"}, "unit": {"type": "str", "enum": ["C", "F"]},
        "n": {"type": "int", "default": 7}, "where": {"type": "dict"},
    }  # fmt: skip
    tools, _ = read_tools([{"name": "f", "parameters": parameters}])
    arguments = {"cities": ["Oslo", "Rome"], "unit": "F", "n": 7, "where": {"street": "Elm", "deep": [[{"x": 99}]]}}
    row = Item("here", "1", "Weather of Oslo, Elm street", tools, (Call("f", arguments),))
    assert unsupported(row) == ["f.cities = 'Rome'", "f.where = 99"]
