"""One call against one accepted answer, by the document of the function the answer names."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from BFCL.check.ast.java import read_java
from BFCL.check.ast.javascript import read_javascript
from BFCL.check.ast.kinds import KINDS, LISTS, Language
from BFCL.check.ast.values import value_error

Document = Mapping[str, Any]
"""A function document: `name`, `parameters.properties`, `parameters.required`."""
Call = Mapping[str, Mapping[str, Any]]
"""A decoded call: function name → argument → value."""
Answer = Mapping[str, Mapping[str, Any]]
"""What is accepted: function name → argument → accepted values."""

_READ: Mapping[Language, tuple[Callable[[str, str, str | None], Any], str]] = {
    Language.JAVA: (read_java, "type_error:java"),
    Language.JAVASCRIPT: (read_javascript, "type_error:js"),
}


def call_error(document: Document, call: Call, answer: Answer, language: Language) -> str:
    """Return the name of the first mistake of a call, "" where there is none.

    Raises whatever odd shapes of its inputs cause; `check` turns that into a verdict.
    """
    accepted = next(iter(answer.values()))
    parameters = document["parameters"]
    properties = parameters["properties"]
    if document["name"] not in call:
        return "simple_function_checker:wrong_func_name"
    given = call[document["name"]]
    if any(name not in given for name in parameters.get("required", ())):
        return "simple_function_checker:missing_required"
    for name, value in given.items():
        if name not in properties or name not in accepted:
            return "simple_function_checker:unexpected_param"
        error = argument_error(properties[name], value, accepted[name], language)
        if error:
            return error
    if any(name not in given and "" not in values for name, values in accepted.items()):
        return "simple_function_checker:missing_optional"
    return ""


def argument_error(parameter: Mapping[str, Any], value: Any, accepted: Any, language: Language) -> str:
    """Return the name of the mistake in one argument's value."""
    type_name = parameter["type"]
    kind = KINDS[language].get(type_name)
    if kind is None:
        return "ast_checker:unknown_type"
    item_type = parameter.get("items", {}).get("type") if type_name in LISTS[language] else None
    if language is not Language.PYTHON:
        read, refused = _READ[language]
        if type(value) is not str:
            return refused
        value = read(value, type_name, item_type)
    elif kind is float and type(value) is int:
        value = float(value)
    return value_error(value, accepted, kind, KINDS[language].get(item_type) if item_type else None)
