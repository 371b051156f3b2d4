# pyright: basic
"""Right calls made of accepted answers: right by the rules that can read them, in every language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from BFCL.check.ast.check import check
from BFCL.data.categories import AST, RELEVANCE
from BFCL.data.gold import NO_RIGHT_CALL, gold_calls
from BFCL.data.rows import SingleTurnRow, single_turn_rows
from BFCL.data.tests.needs import needs_package


def row(
    category: str, kind: str, accepted: list[Any], items: str | None = None, required: bool = True
) -> SingleTurnRow:
    parameter: dict[str, Any] = {"type": kind, **({"items": {"type": items}} if items else {})}
    parameters = {"type": "dict", "properties": {"a": parameter}, "required": ["a"] if required else []}
    return SingleTurnRow("x", category, (), ({"name": "f", "parameters": parameters},), ({"f": {"a": accepted}},))


@pytest.mark.parametrize(
    ("category", "kind", "accepted", "items", "value"),
    [
        ("simple_python", "string", ["x", "y"], None, "x"),
        ("simple_python", "array", [[{"k": [1, 2], "l": [""]}]], "dict", [{"k": 1}]),
        ("simple_python", "dict", [{"k": ["v", ""], "o": ["", 1]}], None, {"k": "v"}),
        ("simple_java", "boolean", [True], None, "true"),
        ("simple_java", "long", [5], None, "5L"),
        ("simple_java", "float", [2.5], None, "2.5f"),
        ("simple_java", "double", [2.5], None, "2.5"),
        ("simple_java", "ArrayList", [["a", "b"]], "String", 'new ArrayList<String>(Arrays.asList("a", "b"))'),
        ("simple_java", "ArrayList", [[]], "String", "new ArrayList<String>()"),
        ("simple_java", "ArrayList", [[1, 2]], "long", "new ArrayList<long>(Arrays.asList(1L, 2L))"),
        ("simple_java", "Array", [[1, 2]], "integer", "new integer[]{1, 2}"),
        ("simple_java", "HashMap", [{"k": ["v"]}], None, 'new HashMap<String, Object>() {{ put("k", "v"); }}'),
        ("simple_javascript", "Bigint", [7], None, "7n"),
        ("simple_javascript", "array", [["a", 1]], None, '["a", 1]'),
        ("simple_javascript", "dict", [{"k": [1]}], None, "{k: 1}"),
    ],
)
def test_the_first_accepted_value_is_written_and_right(
    category: str, kind: str, accepted: list[Any], items: str | None, value: Any
) -> None:
    made = row(category, kind, accepted, items)
    assert gold_calls(made) == [{"f": {"a": value}}]
    assert check(made.functions, made.answers, gold_calls(made), category).valid


def test_what_may_be_left_out_first_is_left_out() -> None:
    assert gold_calls(row("simple_python", "string", ["", "x"], required=False)) == [{"f": {}}]


@needs_package
@pytest.mark.parametrize("category", AST)
def test_gold_of_every_row_is_right_but_for_the_ones_named(category: str) -> None:
    rows = single_turn_rows(category)
    wrong = {r.id for r in rows if not check(r.functions, r.answers, gold_calls(r), category).valid}
    assert wrong == {row_id for row_id in NO_RIGHT_CALL if row_id.startswith(f"{category}_") and row_id in ids(rows)}


def ids(rows: Sequence[SingleTurnRow]) -> set[str]:
    return {each.id for each in rows}


@needs_package
@pytest.mark.parametrize("category", RELEVANCE)
def test_rows_of_relevance_have_no_gold(category: str) -> None:
    assert not any(gold_calls(each) for each in single_turn_rows(category))
