"""Right calls of a single-turn row, made of its accepted answers: the first accepted value of every argument.

In Java and JavaScript a value is source text, as a model writes it. The rows of `NO_RIGHT_CALL` have none made this way
that the leaderboard's own checker accepts: an argument that must be given has no accepted value or no description, a
list of mixed items can't be written so that its readers read it back, a call of one answer is taken for another.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, cast

from BFCL.check.ast.kinds import Language, language_of
from BFCL.data.rows import SingleTurnRow

NO_RIGHT_CALL = frozenset(
    {
        "simple_java_36",
        "simple_java_65",
        "parallel_multiple_26",
        "live_simple_106-63-0",
        "live_simple_112-68-0",
        "live_multiple_862-181-3",
        "live_multiple_964-207-0",
    }
)
"""Rows whose own answer is judged wrong, there as here."""

GoldCall = dict[str, dict[str, Any]]
"""Function name → argument → value."""


def gold_calls(row: SingleTurnRow) -> list[GoldCall]:
    """Return one right call an answer; none for a row that is judged by relevance."""
    documents = {document["name"]: document["parameters"] for document in row.functions}
    language = language_of(row.category)
    return [
        {name: _arguments(accepted, documents[name], language)}
        for answer in row.answers
        for name, accepted in answer.items()
    ]


def _arguments(accepted: Mapping[str, Any], parameters: Mapping[str, Any], language: Language) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, values in accepted.items():
        required = name in parameters.get("required", ())
        if not values or (values[0] == "" and not required):
            continue
        value = _plain(next((each for each in values if each != ""), ""))
        properties = parameters["properties"].get(name, {})
        given[name] = value if language is Language.PYTHON else _source(value, properties, language)
    return given


def _plain(value: object) -> Any:
    """Return a value without the alternatives inside its objects."""
    if isinstance(value, dict):
        accepted = cast("dict[str, Any]", value)
        return {key: values[0] for key, values in accepted.items() if isinstance(values, list) and values[0] != ""}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value


def _source(value: Any, parameter: Mapping[str, Any], language: Language) -> str:
    """Return a value as a model would write it in Java or JavaScript."""
    kind, item = parameter.get("type", "any"), parameter.get("items", {}).get("type")
    if isinstance(value, list):
        return _LISTS[language](cast("list[Any]", value), kind, item)
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value)
        if language is Language.JAVASCRIPT:
            return "{" + ", ".join(f"{key}: {_literal(each)}" for key, each in pairs.items()) + "}"
        puts = " ".join(f'put("{key}", {_literal(each)});' for key, each in pairs.items())
        return "new HashMap<String, Object>() {{ " + puts + " }}"
    return value if isinstance(value, str) else _literal(value, _SUFFIXES[language].get(kind, ""))


def _java_list(values: list[Any], kind: str, item: str | None) -> str:
    if kind == "ArrayList":
        suffix = _SUFFIXES[Language.JAVA].get(item or "", "")
        inside = f"Arrays.asList({', '.join(_literal(each, suffix) for each in values)})" if values else ""
        return f"new ArrayList<{item or ''}>({inside})"
    inner = ", ".join(each if isinstance(each, str) and item else _literal(each) for each in values)
    return f"new {item or 'Object'}[]{{{inner}}}"


def _script_list(values: list[Any], _kind: str, _item: str | None) -> str:
    return "[" + ", ".join(map(_literal, values)) + "]"


def _literal(value: Any, suffix: str = "") -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return json.dumps(value, ensure_ascii=False) + (suffix if number else "")


_LISTS: Mapping[Language, Callable[[list[Any], str, str | None], str]] = {
    Language.JAVA: _java_list,
    Language.JAVASCRIPT: _script_list,
}
_SUFFIXES: Mapping[Language, Mapping[str, str]] = {
    Language.JAVA: {"long": "L", "float": "f"},
    Language.JAVASCRIPT: {"Bigint": "n"},
}
