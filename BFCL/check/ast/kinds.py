"""Languages of the leaderboard and the types their function documents name.

A document gives each parameter a type by name. The tables say which Python value stands for it once the model's text is
decoded: a call in Python carries such values itself, one in Java or JavaScript carries source text that is read first.
"""
from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Language(StrEnum):
    """The language whose types a category's documents use."""

    PYTHON = "python"
    JAVA = "java"
    JAVASCRIPT = "javascript"


KINDS: Mapping[Language, Mapping[str, type]] = {
    Language.PYTHON: {
        "string": str,
        "integer": int,
        "float": float,
        "boolean": bool,
        "array": list,
        "tuple": list,
        "dict": dict,
        "any": str,
        # JSON Schema's own names, which the leaderboard's documents don't use (see `differences`).
        "object": dict,
        "number": float,
    },
    Language.JAVA: {
        "byte": int,
        "short": int,
        "integer": int,
        "long": int,
        "float": float,
        "double": float,
        "boolean": bool,
        "char": str,
        "String": str,
        "any": str,
        "Array": list,
        "ArrayList": list,
        "Queue": list,
        "Stack": list,
        "Set": set,
        "HashMap": dict,
        "Hashtable": dict,
    },
    Language.JAVASCRIPT: {
        "String": str,
        "integer": int,
        "float": float,
        "Bigint": int,
        "Boolean": bool,
        "dict": dict,
        "array": list,
        "any": str,
    },
}
"""Type name of a document → the Python type of its decoded value."""

LISTS: Mapping[Language, frozenset[str]] = {
    Language.PYTHON: frozenset({"array", "tuple"}),
    Language.JAVA: frozenset({"Array", "ArrayList"}),
    Language.JAVASCRIPT: frozenset({"array"}),
}
"""Types whose items are judged by the type their document names."""


def language_of(category: str) -> Language:
    """Return the language of a category; everything but Java and JavaScript is Python."""
    if "javascript" in category:
        return Language.JAVASCRIPT
    return Language.JAVA if "java" in category else Language.PYTHON
