"""The leaderboard's rules one by one, on rows made by hand; odd shapes get a verdict, never a traceback."""

# pyright: basic
from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.ast.check import check
from BFCL.check.ast.differences import DIFFERENCES
from BFCL.check.ast.java import read_java
from BFCL.check.ast.javascript import read_javascript
from BFCL.check.ast.kinds import KINDS, Language
from BFCL.check.ast.rows import RowVerdict, judge_lines, judge_row
from environment.core.errors import DataError

TYPES = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "real": {"type": "float"},
    "flag": {"type": "boolean"},
    "items": {"type": "array", "items": {"type": "integer"}},
    "reals": {"type": "array", "items": {"type": "float"}},
    "thing": {"type": "dict"},
    "things": {"type": "array", "items": {"type": "dict"}},
    "pair": {"type": "tuple", "items": {"type": "string"}},
}


def document(name: str, types: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "dict", "properties": types, "required": required or []}}


def verdict(argument: str, value: Any, accepted: list[Any]) -> str:
    """What is said of one argument's value."""
    types = {argument: TYPES[argument]}
    return check([document("f", types)], [{"f": {argument: accepted}}], [{"f": {argument: value}}], "simple").error_type


@pytest.mark.parametrize(
    ("argument", "value", "accepted", "error"),
    [
        ("text", "new-york, N.Y", ["New York NY"], ""),
        ("text", "it's", ['it"s'], ""),
        ("text", "new\tyork", ["new york"], "value_error:string"),
        ("text", 5, ["5"], "type_error:simple"),
        ("text", "", ["", "x"], ""),
        ("text", None, [None], ""),
        ("text", None, ["x"], "type_error:simple"),
        ("whole", 2, [2], ""),
        ("whole", 2.0, [2], "type_error:simple"),
        ("whole", True, [1], "type_error:simple"),
        ("whole", "n", ["n"], ""),
        ("whole", "N", ["n"], "value_error:others"),
        ("real", 2, [2.0], ""),
        ("real", 2, [2], ""),
        ("real", False, [0.0], "type_error:simple"),
        ("real", 0.1 + 0.2, [0.3], "value_error:others"),
        ("flag", 1, [True], "type_error:simple"),
        ("flag", False, [True], "value_error:others"),
        ("items", [1, 2], [[1, 2], [3]], ""),
        ("items", [2, 1], [[1, 2]], "value_error:list/tuple"),
        ("items", [1, "2"], [[1, 2]], "type_error:nested"),
        ("items", [], ["", [1]], ""),
        ("items", "", ["", [1]], "type_error:simple"),
        ("items", [True], [[1], ""], ""),
        ("items", [2.5], [[1], ""], "value_error:list/tuple"),
        ("reals", [1], [[1.0]], "type_error:nested"),
        ("reals", [1], [[1]], ""),
        ("pair", ["a b", "C"], [["ab", "c"]], ""),
        ("thing", {"a": 1}, [{"a": [1, 2]}], ""),
        ("thing", {"a": 3}, [{"a": [1, 2]}], "value_error:dict_value"),
        ("thing", {"a": True}, [{"a": [1]}], ""),
        ("thing", {"b": 1}, [{"a": [1, ""]}], "value_error:dict_key"),
        ("thing", {}, [{"a": [1, ""]}], ""),
        ("thing", {"a": 3}, [{"a": [3], "b": [1]}], "value_error:dict_key"),
        ("thing", {}, [""], "dict_checker:unclear"),
        ("things", [{"a": 1}], [[{"a": [1]}]], ""),
        ("things", [{"a": 1}, {"a": 1}], [[{"a": [1]}]], "value_error:list_dict_count"),
        ("things", [{"a": 2}], [[{"a": [1]}]], "value_error:dict_value"),
        ("things", [], ["", [{"a": [1]}]], ""),
    ],
)
def test_one_value(argument: str, value: Any, accepted: list[Any], error: str) -> None:
    assert verdict(argument, value, accepted) == error


ONE = document("f", {"a": {"type": "string"}, "b": {"type": "string"}}, ["a"])
TWO = document("g", {"a": {"type": "string"}})


@pytest.mark.parametrize(
    ("call", "error"),
    [
        ({"f": {"a": "x"}}, ""),
        ({"f": {"a": "x", "b": "y"}}, ""),
        ({"g": {"a": "x"}}, "simple_function_checker:wrong_func_name"),
        ({"f": {}}, "simple_function_checker:missing_required"),
        ({"f": {"a": "x", "c": 1}}, "simple_function_checker:unexpected_param"),
        ({"f": {"a": "z"}}, "value_error:string"),
        ({"f": {"a": "x", "b": "z"}}, "value_error:string"),
    ],
)
def test_one_call(call: dict[str, Any], error: str) -> None:
    assert check([ONE], [{"f": {"a": ["x"], "b": ["y", ""]}}], [call], "simple_python").error_type == error


def test_an_argument_that_must_not_be_left_out() -> None:
    found = check([ONE], [{"f": {"a": ["x"], "b": ["y"]}}], [{"f": {"a": "x"}}], "live_simple")
    assert found.error_type == "simple_function_checker:missing_optional"


def test_several_functions_and_counts() -> None:
    answers, call = [{"g": {"a": ["x"]}}], {"g": {"a": "x"}}
    assert check([ONE, TWO], answers, [call], "multiple").valid
    assert (
        check([ONE, TWO], answers, [call, call], "live_multiple").error_type == "multiple_function_checker:wrong_count"
    )
    assert check([TWO], answers, [], "simple").error_type == "simple_function_checker:wrong_count"
    both = [{"f": {"a": ["x"]}}, {"g": {"a": ["y"]}}]
    calls = [{"g": {"a": "y"}}, {"f": {"a": "x"}}]
    assert check([ONE, TWO], both, calls, "parallel_multiple").valid
    assert check([ONE, TWO], both, calls[:1], "parallel").error_type.endswith("no_order:wrong_count")
    assert check([ONE, TWO], both, [calls[0]] * 2, "live_parallel").error_type.endswith("no_order:cannot_find_match")


def test_the_first_call_that_fits_is_taken_as_the_leaderboard_does() -> None:
    answers = [{"g": {"a": ["x", "y"]}}, {"g": {"a": ["x"]}}]
    x, y = {"g": {"a": "x"}}, {"g": {"a": "y"}}
    assert check([TWO], answers, [y, x], "parallel").valid
    assert not check([TWO], answers, [x, y], "parallel").valid


# ------------------------------------------------------------------------------------------ Java, JavaScript


@pytest.mark.parametrize(
    ("text", "kind", "items", "value"),
    [
        ("-12", "integer", None, -12),
        ("12L", "integer", None, "12L"),
        ("12L", "long", None, 12),
        ("12", "long", None, "12"),
        ("1.5f", "float", None, 1.5),
        ("3f", "float", None, 3.0),
        ("1.5", "float", None, "1.5"),
        ("1.5e3", "double", None, 1500.0),
        ("true", "boolean", None, True),
        ("True", "boolean", None, "True"),
        ("'c'", "char", None, "'c'"),
        ("x.y()", "any", None, "x.y()"),
        ('"s"', "String", None, '"s"'),
        ("new int[]{1, 2}", "Array", "integer", [1, 2]),
        ('new String[]{"a"}', "Array", "String", ['"a"']),
        ("new int[]{}", "Array", "integer", []),
        ("new int[]{1, , 2,}", "Array", "integer", [1, 2]),
        ("int[3]", "Array", "integer", "int[3]"),
        ('new ArrayList<String>(Arrays.asList("a", "b"))', "ArrayList", "String", ["a", "b"]),
        ("new ArrayList<Integer>() {{ add(1); add(2); }}", "ArrayList", "integer", [1, 2]),
        ("new ArrayList<>()", "ArrayList", None, []),
        (
            'new HashMap<String, Object>() {{ put("a", 1); put("b", "c"); put("d", 2L); put("e", x); }}',
            "HashMap",
            None,
            {"a": 1, "b": "c", "d": 2, "e": "x"},
        ),
        ("new HashMap<>()", "HashMap", None, {}),
        ('Map.of("a", 1)', "HashMap", None, 'Map.of("a", 1)'),
    ],
)
def test_java_values(text: str, kind: str, items: str | None, value: Any) -> None:
    assert read_java(text, kind, items) == value


@pytest.mark.parametrize(
    ("text", "kind", "items", "value"),
    [
        ("'a b'", "String", None, "a b"),
        ("`a`", "String", None, "`a`"),
        ("7", "integer", None, 7),
        ("7.0", "integer", None, "7.0"),
        ("7", "float", None, 7.0),
        ("5e0", "float", None, "5e0"),
        ("7n", "Bigint", None, 7),
        ("true", "Boolean", None, True),
        ("[1, 2]", "array", "integer", [1, 2]),
        ("['a', \"b\"]", "array", "String", ["a", "b"]),
        ("[]", "array", "String", []),
        ("new Array(1, 2)", "array", "integer", [1, 2]),
        ("list", "array", "integer", "list"),
        ("[[1, 2], [3]]", "array", None, [[1, 2], [3]]),
        ("{a: 1, 'b': \"c\"}", "dict", None, {"a": 1, "b": "c"}),
        ("{}", "dict", None, {}),
        ("{a: {b: 1}}", "dict", None, {"a": "{b: 1"}),
        ("{a: [1, 'b'], c: x, 2, 'd': true}", "dict", None, {"a": [1, "b"], "c": "x, 2", "d": True}),
        ("{a}", "dict", None, {}),
        ("[[1, x], [\"b\"]]", "array", "String", [[1, "x"], ["b"]]),
        ("5.", "float", None, "5."),
        ("x => x", "any", None, "x => x"),
    ],
)
def test_javascript_values(text: str, kind: str, items: str | None, value: Any) -> None:
    assert read_javascript(text, kind, items) == value


def test_values_that_are_no_source_text_are_refused_by_language() -> None:
    typed = document("f", {"n": {"type": "integer"}})
    for category, error in (("simple_java", "type_error:java"), ("simple_javascript", "type_error:js")):
        assert check([typed], [{"f": {"n": [1]}}], [{"f": {"n": 1}}], category).error_type == error
        assert check([typed], [{"f": {"n": [1]}}], [{"f": {"n": "1"}}], category).valid


# ------------------------------------------------------------------------------------------ what theirs can't judge


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text("ab[]{}'\"(1", max_size=6),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.sampled_from("abfg"), v, max_size=3),
    max_leaves=6,
)
type_names = st.sampled_from(sorted({name for kinds in KINDS.values() for name in kinds} | {"zz"}))


@given(
    json_values,
    st.lists(json_values, max_size=3),
    type_names,
    type_names,
    st.sampled_from(["simple_java", "simple_javascript", "simple"]),
)
def test_any_value_gets_a_verdict(value: Any, accepted: list[Any], kind: str, items: str, category: str) -> None:
    typed = document("f", {"a": {"type": kind, "items": {"type": items}}})
    found = check([typed], [{"f": {"a": accepted}}], [{"f": {"a": value}}], category)
    assert found.valid == (found.error_type == "")


@given(st.lists(json_values, max_size=3), st.sampled_from(["simple", "multiple", "parallel", "simple_java"]))
def test_any_calls_get_a_verdict(calls: list[Any], category: str) -> None:
    assert isinstance(check([ONE, TWO], [{"f": {"a": ["x"]}}], calls, category).valid, bool)


def test_every_intended_difference_is_real_and_reasoned() -> None:
    found = {
        "malformed": check([ONE], [{"f": {"a": ["x"]}}], [{"f": cast(Any, 5)}], "simple").error_type,
        "unknown_function": check([ONE], [{"z": {}}], [{"z": {}}], "multiple").error_type,
        "unknown_type": check(
            [document("f", {"a": {"type": "money"}})], [{"f": {"a": [1]}}], [{"f": {"a": 1}}], "simple"
        ).error_type,
        "no_items": check(
            [document("f", {"a": {"type": "array"}})], [{"f": {"a": [[1]]}}], [{"f": {"a": [1]}}], "simple"
        ).error_type,
        "no_required": check(
            [{"name": "f", "parameters": {"properties": {}}}], [{"f": {}}], [{"f": {}}], "simple"
        ).error_type,
        "sets_and_queues": check(
            [document("f", {"a": {"type": "Set"}})], [{"f": {"a": [["x"]]}}], [{"f": {"a": "Set.of(1)"}}], "simple_java"
        ).error_type,
    }
    assert found == {
        "malformed": "ast_checker:malformed",
        "unknown_function": "ast_checker:unknown_function",
        "unknown_type": "ast_checker:unknown_type",
        "no_items": "",
        "no_required": "",
        "sets_and_queues": "type_error:simple",
    }
    assert {d.name for d in DIFFERENCES if d.where == "check"} == set(found)
    assert all(d.theirs and d.ours and d.why for d in DIFFERENCES)
    assert KINDS[Language.PYTHON]["object"] is dict and KINDS[Language.PYTHON]["number"] is float


# ------------------------------------------------------------------------------------------ rows


ROW = {
    "case_id": "r1",
    "function": [ONE],
    "possible_answer": [{"f": {"a": ["x"]}}],
    "model_output": [{"f": {"a": "x"}}],
}


def test_a_bad_row_costs_that_row_alone() -> None:
    bad = [
        b"{",
        b"[]",
        b'{"case_id": 1}',
        json.dumps({**ROW, "category": "live_simpl"}).encode(),
        json.dumps({**ROW, "function": []}).encode(),
    ]
    good = json.dumps(ROW).encode()
    found = list(judge_lines([b"\xef\xbb\xbf" + good, b"\n", *bad, good], "rows.jsonl"))
    assert [type(row) for row in found] == [RowVerdict, *[DataError] * 5, RowVerdict]
    told = [str(row) for row in found if isinstance(row, DataError)]
    assert all(f"rows.jsonl line {number}: " in text for number, text in enumerate(told, 3))
    assert "'live_simple'" in told[3] and "no function" in told[2]


@pytest.mark.parametrize("output", ["f(a='x')", None, 5, {}, [5], [{"f": None}], [{}], [{"f": {"a": "x"}, "g": {}}, 1]])
def test_model_output_of_any_shape_is_a_verdict(output: Any) -> None:
    assert judge_row({**ROW, "model_output": output}).valid is False


def test_a_lone_function_is_a_list_of_one() -> None:
    assert judge_row({**ROW, "function": ONE, "possible_answer": ROW["possible_answer"][0]}).valid
