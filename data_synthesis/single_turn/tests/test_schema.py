"""Tools of strangers as schemas, and calls held to them."""
from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_synthesis.single_turn.model import Call, Drop, Item
from data_synthesis.single_turn.schema import check, problems, typed
from data_synthesis.single_turn.tools import plain_name, read_tools
from environment.core.schema import ToolSchema


def tool(**parameters: Any) -> ToolSchema:
    """Return a tool in xlam's layout with these parameters."""
    return read_tools([{"name": "f", "description": "", "parameters": parameters}])[0][0]


def item(schema: ToolSchema, **arguments: Any) -> Item:
    """Return a row with one call."""
    return Item("here", "1", "query", (schema,), (Call(schema.name, arguments),))


@pytest.mark.parametrize(
    ("text", "schema", "required"),
    [
        ("str", {"type": "string"}, True),
        ("int, optional", {"type": "integer"}, False),
        ("float, default is 3", {"type": "number"}, False),
        ("Optional[str]", {"type": "string"}, False),
        ("List[int]", {"type": "array", "items": {"type": "integer"}}, True),
        ("list", {"type": "array"}, True),
        ("List[Union[int, float]], optional", {"type": "array", "items": {"type": ["integer", "number"]}}, False),
        ("Tuple[float, float]", {"type": "array"}, True),
        ("Dict[str, List[int]]", {"type": "object"}, True),
        ("typing.List[str]", {"type": "array", "items": {"type": "string"}}, True),
        ("List[List[int]]", {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}, True),
        ("Callable[[float], float]", {}, True),
        ("Any", {}, True),
        ("", {}, True),
        ("List[", {"type": "array"}, True),
        ("]]", {}, True),
    ],
)
def test_python_types_of_xlam(text: str, schema: dict[str, Any], required: bool) -> None:
    made = tool(a={"type": text, "description": "d"})
    assert made.properties["a"] == {**schema, "description": "d"}
    assert made.required == (("a",) if required else ())


def test_a_default_makes_a_parameter_optional() -> None:
    assert tool(a={"type": "str", "default": "x"}).required == ()


def test_json_schema_of_toolace_and_openai_is_taken_over_and_nothing_else() -> None:
    parameters = {
        "type": "dict",
        "properties": {
            "where": {"type": "dict", "properties": {"lat": {"type": "float", "minimum": -90}}, "required": ["lat"]},
            "kind": {"type": "string", "enum": ["a", "b"], "$ref": "http://127.0.0.1:1/x", "pattern": "("},
        },
        "required": ["where", "gone"],
    }
    for entry in (
        {"name": "Get It", "parameters": parameters},
        {"type": "function", "function": {"name": "Get It", "parameters": parameters}},
    ):
        (made,), names = read_tools(json.dumps([entry]))
        assert made.name == "Get_It" and names == {"Get It": "Get_It"}
        assert made.required == ("where",)
        assert made.properties["kind"] == {"type": "string", "enum": ["a", "b"]}
        assert made.properties["where"]["properties"]["lat"] == {"type": "number", "minimum": -90}


def test_a_parameter_called_type_is_a_parameter() -> None:
    made = tool(type={"type": "str", "description": "kind of thing"})
    assert made.properties["type"]["type"] == "string"


@pytest.mark.parametrize(
    ("tools", "reason"),
    [
        ("[", "broken_json"), ([], "no_tools"), ("{}", "no_tools"), (None, "no_tools"), ([3], "bad_tool"),
        ([{"parameters": {}}], "bad_tool"), ([{"name": "§§"}], "bad_tool"),
        ([{"name": "f", "parameters": [1]}], "bad_tool"),
        ([{"name": "a b"}, {"name": "a_b"}], "tool_twice"), ([{"name": "f"}, {"name": "f"}], "tool_twice"),
    ],
)  # fmt: skip
def test_tools_that_are_none_say_why(tools: object, reason: str) -> None:
    with pytest.raises(Drop) as caught:
        read_tools(tools)
    assert caught.value.reason == reason


def test_a_schema_without_end_is_cut() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep = {"type": "object", "properties": {"x": deep}}
    made = tool(a=deep)
    check(item(made, a={"x": {"x": {"x": {}}}}))
    assert json.dumps(made.parameters).count('"x"') <= 8


@given(st.text(max_size=100))
def test_plain_names_are_plain_and_stay(name: str) -> None:
    plain = plain_name(name)
    assert len(plain) <= 64 and plain_name(plain) == plain
    assert all(c.isascii() and (c.isalnum() or c in "_-") for c in plain)


WRONG = [
    ({"type": "int"}, "5", "wrong_type"),
    ({"type": "int"}, True, "wrong_type"),
    ({"type": "int"}, 5.5, "wrong_type"),
    ({"type": "float"}, "x", "wrong_type"),
    ({"type": "bool"}, 1, "wrong_type"),
    ({"type": "str"}, 1, "wrong_type"),
    ({"type": "str"}, None, "wrong_type"),
    ({"type": "List[int]"}, [1, "2"], "wrong_type"),
    ({"type": "str", "enum": ["a"]}, "b", "not_a_choice"),
    ({"type": "int", "enum": [1]}, 2, "not_a_choice"),
    ({"type": "int", "minimum": 3}, 2, "out_of_bounds"),
    ({"type": "float", "maximum": 3}, 3.1, "out_of_bounds"),
    ({"type": "list", "minItems": 1}, [], "out_of_bounds"),
    ({"type": "dict", "properties": {"x": {"type": "int"}}, "required": ["x"]}, {}, "missing_argument"),
    ({"type": "dict", "properties": {"x": {"type": "int"}}}, {"y": 1}, "unknown_argument"),
]


@pytest.mark.parametrize(("parameter", "value", "reason"), WRONG)
def test_values_are_judged_as_they_stand(parameter: dict[str, Any], value: Any, reason: str) -> None:
    with pytest.raises(Drop) as caught:
        check(item(tool(a=parameter), a=value))
    assert caught.value.reason == reason


RIGHT = [
    ({"type": "int"}, 5), ({"type": "float"}, 5), ({"type": "float"}, 5.5), ({"type": "bool"}, False),
    ({"type": "List[float]"}, [1, 2.5]), ({"type": "Any"}, {"x": [None]}), ({"type": "Union[int, str]"}, "x"),
    ({"type": "str", "enum": ["a"]}, "a"), ({"type": "dict"}, {"any": 1}), ({"type": "int", "minimum": 3}, 3),
]  # fmt: skip


@pytest.mark.parametrize(("parameter", "value"), RIGHT)
def test_right_values_pass_and_stay_untouched(parameter: dict[str, Any], value: Any) -> None:
    row = item(tool(a=parameter), a=value)
    check(row)
    assert typed(row) is row


def test_names_are_checked_and_the_nearest_is_told() -> None:
    row = Item("here", "1", "q", (tool(city={"type": "str"}),), (Call("g", {"city": "Oslo"}),))
    with pytest.raises(Drop, match="unknown_tool"):
        check(row)
    with pytest.raises(Drop, match="nearest 'city'"):
        check(item(tool(city={"type": "str", "default": ""}), cty="Oslo"))
    with pytest.raises(Drop, match=r"missing_argument.*city"):
        check(item(tool(city={"type": "str"})))


@pytest.mark.parametrize(
    ("parameter", "value", "mended"),
    [
        ({"type": "int"}, "5", 5), ({"type": "int"}, 5.0, 5), ({"type": "float"}, "2.5", 2.5),
        ({"type": "str"}, 7, "7"),
        ({"type": "bool"}, "True", True), ({"type": "List[int]"}, "[1, 2]", [1, 2]),
        ({"type": "str", "enum": ["METRIC"]}, "metric", "METRIC"),
    ],
)  # fmt: skip
def test_what_has_one_right_reading_is_mended_and_told(parameter: dict[str, Any], value: Any, mended: Any) -> None:
    row = typed(item(tool(a=parameter), a=value))
    check(row)
    assert row.calls[0].arguments == {"a": mended} and type(row.calls[0].arguments["a"]) is type(mended)
    assert len(row.repairs) == 1 and "f.a" in row.repairs[0]


def test_null_for_what_may_be_left_out_goes_and_for_what_may_not_stays() -> None:
    row = typed(item(tool(a={"type": "str", "default": ""}), a=None))
    assert row.calls[0].arguments == {}
    with pytest.raises(Drop, match="wrong_type"):
        check(typed(item(tool(a={"type": "str"}), a=None)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from([parameter for parameter, *_ in WRONG + RIGHT]), json_values)
def test_mending_never_breaks_a_value_and_is_done_at_once(parameter: dict[str, Any], value: Any) -> None:
    made = tool(a=parameter)
    once = typed(item(made, a=value))
    before = len(list(problems(made, {"a": value})))
    assert len(list(problems(made, once.calls[0].arguments))) <= max(before, 1)
    assert typed(once).calls == once.calls
    if not before:
        assert once.calls[0].arguments == {"a": value}
