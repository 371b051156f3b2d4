"""A Python literal in a syntax tree → the JSON value it means. Nothing is evaluated and nothing is looked up."""
from __future__ import annotations

import ast
import math
from typing import Any

from BFCL.parse.reading import MAX_DEPTH
from environment.core.calls import JsonValue
from environment.session.json_text import clean_text

_JSON_WORDS = {"true": True, "false": False, "null": None}
_WORDS: dict[type, str] = {
    ast.Name: "a variable",
    ast.Call: "a call",
    ast.Set: "a set",
    ast.JoinedStr: "a formatted text",
}


class Refused(ValueError):
    """A node that is no literal, or one that JSON can't hold."""

    def __init__(self, node: ast.expr, reason: str) -> None:
        super().__init__(reason)
        self.node = node
        self.reason = reason


def literal(node: ast.expr, depth: int = 0) -> JsonValue:
    """Return the value of a literal; Refused for anything else."""
    if depth > MAX_DEPTH:
        raise Refused(node, "nested too deeply")
    match node:
        case ast.Constant(value=value):
            return _scalar(node, value)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=ast.Constant(value=int() | float() as number)):
            if isinstance(number, bool):
                raise Refused(node, "an expression is no literal")
            return _scalar(node, -number if isinstance(sign, ast.USub) else number)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [literal(item, depth + 1) for item in items]
        case ast.Dict():
            return _object(node, depth)
        case ast.Name(id=word) if word in _JSON_WORDS:
            return _JSON_WORDS[word]
        case _:
            raise Refused(node, f"{_WORDS.get(type(node), 'an expression')} is no literal")


def _object(node: ast.Dict, depth: int) -> JsonValue:
    made: dict[str, JsonValue] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise Refused(key or value, "the keys of a dict must be texts")
        name = _scalar(key, key.value)
        if name in made:
            raise Refused(key, f"duplicate key {name[:60]!r}")
        made[name] = literal(value, depth + 1)
    return made


def _scalar(node: ast.expr, value: Any) -> JsonValue:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise Refused(node, "number out of range")
    if isinstance(value, float) and not math.isfinite(value):
        raise Refused(node, "number out of range")
    if isinstance(value, str) and clean_text(value) != value:
        raise Refused(node, "unpaired surrogate in a string")
    if not isinstance(value, int | float | str):
        raise Refused(node, f"{type(value).__name__} is no JSON type")
    return value
