"""Shapes tell an answer from what is none, wrapped or bare, and leave room for more."""
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from environment.core.schema import ToolSchema
from environment.core.shapes import Shapes
from environment.core.tests.made import SCHEMAS, json_values, tools

HOTELS = {
    "type": "object",
    "properties": {"data": {
        "type": "array",
        "items": {
            "type": "object", "required": ["id"], "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "properties": {"id": {"type": ["string", "integer"]}, "day": {"type": "string", "format": "date"}},
        },
    }},
    "required": ["data"],
}  # fmt: skip
SHAPES = Shapes({
    "T": ToolSchema("T", "", {}, response=HOTELS), "Free": ToolSchema("Free", "", {}),
    "Flat": ToolSchema("Flat", "", {}, response={"type": "object", "required": ["units"]}),
})  # fmt: skip


ANSWERS: list[Any] = [{"data": [{"id": 1, "a": 0, "x": {}}]}, [{"id": "x", "b": None}], [], {"data": []}]


@pytest.mark.parametrize("value", ANSWERS)
def test_answers_are_answers(value: Any) -> None:
    assert SHAPES.problem("T", value) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"data": {}}, "data is no array: {}"),
        ({"hotels": []}, 'data is no array: {"hotels": []}'),
        ([{"a": 1}], "data[0] lacks id"),
        ([{"id": 1, "a": 1}, {"id": 1}], "data[1] has none of a, b"),
        ([{"id": 1.5, "a": 1}], "data[0].id is no string or integer: 1.5"),
        ([{"id": 1, "a": 1, "day": "soon"}], 'data[0].day is not as expected: "soon"'),
        (None, "data is no array: null"),
        ("<html>" * 50, "data is no array"),
    ],
)
def test_what_is_none_is_named_with_its_place(value: Any, said: str) -> None:
    problem = SHAPES.problem("T", value)
    assert problem is not None and problem.startswith(said) and len(problem) < 200


def test_no_shape_and_no_tool_mean_no_problem() -> None:
    assert SHAPES.problem("Free", 5) is None and SHAPES.problem("unknown", 5) is None


def test_a_world_without_the_wrapper_is_judged_as_it_is() -> None:
    assert SHAPES.problem("Flat", {"units": []}) is None
    assert SHAPES.problem("Flat", {"data": {"units": []}}) == "data lacks units"


ALL = Shapes(SCHEMAS)


@settings(max_examples=200, deadline=None)
@given(tools, json_values)
def test_nothing_that_a_service_sends_raises(schema: ToolSchema, value: Any) -> None:
    problem = ALL.problem(schema.name, value)
    assert problem is None or problem


def test_depth_is_no_obstacle() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "lacks" in (SHAPES.problem("T", [{"a": deep}]) or "")
    assert SHAPES.problem("T", deep) is not None
