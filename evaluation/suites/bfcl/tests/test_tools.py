"""Function documents as they are shown: every document of the leaderboard becomes a function endpoints accept."""

from __future__ import annotations

import re
from typing import Any

import pytest

from BFCL.data.categories import SINGLE_TURN
from BFCL.data.rows import DOCUMENT_FILES, documents, single_turn_rows
from BFCL.data.tests.needs import needs_package
from evaluation.suites.bfcl.tools import as_function, described

TYPES = {"string", "integer", "number", "boolean", "array", "object"}
DOCUMENT: dict[str, Any] = {
    "name": "a.b",
    "description": "Does it.",
    "parameters": {
        "type": "dict",
        "required": ["x"],
        "properties": {
            "x": {"type": "float", "description": "How much."},
            "y": {"type": "array", "items": {"type": "dict", "properties": {"z": {"type": "any"}}}},
            "w": {"type": "HashMap", "description": "Which.", "properties": {"k": {"type": "String"}}},
            "v": {"type": "ArrayList", "items": {"type": "String"}},
        },
    },
}


def types(node: Any) -> set[str]:
    if not isinstance(node, dict):
        return set()
    inside = [*node.get("properties", {}).values(), node.get("items")]
    return {node["type"]}.union(*map(types, inside))


def test_types_become_those_of_json_schema_all_the_way_down() -> None:
    shown = as_function(described(DOCUMENT, "simple_python"))["function"]
    assert shown["name"] == "a_b" and shown["parameters"]["type"] == "object" and "Python" in shown["description"]
    properties = shown["parameters"]["properties"]
    assert [properties[name]["type"] for name in "xywv"] == ["number", "array", "object", "array"]
    assert properties["y"]["items"] == {"type": "object", "properties": {"z": {"type": "string"}}}
    assert shown["parameters"]["required"] == ["x"]


@pytest.mark.parametrize(("category", "language"), [("simple_java", "Java"), ("simple_javascript", "JavaScript")])
def test_arguments_of_other_languages_are_text_and_say_their_type(category: str, language: str) -> None:
    shown = described(DOCUMENT, category)["parameters"]["properties"]
    assert {each["type"] for each in shown.values()} == {"string"}
    assert f"{language}" in shown["w"]["description"] and "HashMap" in shown["w"]["description"]
    assert "items are of type String" in shown["v"]["description"] and "items" not in shown["v"]
    assert '"k"' in shown["w"]["description"] and "properties" not in shown["w"]


def test_a_document_is_left_as_it_was() -> None:
    before = repr(DOCUMENT)
    as_function(described(DOCUMENT, "simple_java"))
    assert repr(DOCUMENT) == before


@needs_package
def test_every_document_of_the_leaderboard_becomes_a_function() -> None:
    rows = [(name, document) for name in SINGLE_TURN for row in single_turn_rows(name) for document in row.functions]
    rows += [("multi_turn_base", document) for name in DOCUMENT_FILES for document in documents(name)]
    for category, document in rows:
        function = as_function(described(document, category))["function"]
        assert re.fullmatch(r"[\w-]{1,80}", function["name"], re.ASCII), function["name"]
        assert types(function["parameters"]) <= TYPES
