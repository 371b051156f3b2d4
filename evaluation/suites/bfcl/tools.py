"""Function documents of the leaderboard as a model is shown them: with the language said, and as OpenAI functions.

Documents in Java and JavaScript name types of those languages. A model gives such arguments as text, source text of
the language, so the document shown says `string` and tells the type in words (ours; the leaderboard's differ a little).
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from BFCL.check.ast.kinds import Language, language_of
from BFCL.data.rows import Document

Object = dict[str, Any]

_SYNTAX: Mapping[Language, str] = {
    Language.PYTHON: "Python 3",
    Language.JAVA: "Java 8",
    Language.JAVASCRIPT: "JavaScript",
}
_JSON_TYPES: Mapping[str, str] = {
    "integer": "integer", "byte": "integer", "short": "integer", "long": "integer", "Bigint": "integer",
    "number": "number", "float": "number", "double": "number",
    "boolean": "boolean", "bool": "boolean",
    "array": "array", "list": "array", "tuple": "array", "ArrayList": "array", "Array": "array", "Queue": "array",
    "Stack": "array", "dict": "object", "object": "object", "HashMap": "object", "Hashtable": "object",
}  # fmt: skip
"""Type of a document → type of JSON Schema; all others are texts."""


def described(document: Document, category: str) -> Object:
    """Return a document as it is shown: its language said, and arguments in Java or JavaScript as text."""
    language = language_of(category)
    shown: Object = deepcopy(dict(document))
    shown["description"] = f"{shown.get('description', '')} The function is written in {_SYNTAX[language]}."
    if language is not Language.PYTHON:
        properties: Mapping[str, Object] = shown["parameters"]["properties"]
        shown["parameters"]["properties"] = {name: _as_text(p, language) for name, p in properties.items()}
    return shown


def as_function(document: Document) -> Object:
    """Return a document as an OpenAI function object; dots in its name become `_`, as endpoints ask."""
    schema = _schema(document["parameters"])
    schema["type"] = "object"
    function = {"name": tool_name(document["name"]), "description": document["description"], "parameters": schema}
    return {"type": "function", "function": function}


def tool_name(name: str) -> str:
    """Return the name of a function as endpoints allow it."""
    return name.replace(".", "_")


def _as_text(parameter: Object, language: Language) -> Object:
    kind = parameter.get("type", "any")
    told = f"{parameter.get('description', '')} Given as text: {_SYNTAX[language]} source of type {kind}."
    items = parameter.get("items", {}).get("type")
    if items:
        told += f" Its items are of type {items}."
    if parameter.get("properties"):
        told += f" Its entries: {json.dumps(parameter['properties'])}"
    kept = {key: value for key, value in parameter.items() if key not in ("items", "properties")}
    return {**kept, "type": "string", "description": told}


def _schema(node: Mapping[str, Any]) -> Object:
    """Return a document's type as JSON Schema, all the way down."""
    made: Object = {**node, "type": _JSON_TYPES.get(str(node.get("type", "any")), "string")}
    if isinstance(made.get("properties"), dict):
        made["properties"] = {name: _schema(each) for name, each in made["properties"].items()}
    if isinstance(made.get("items"), dict):
        made["items"] = _schema(made["items"])
    return made
