"""A whole answer as calls, by the leaderboard's rule for prompting: the text is a list of calls, or it is none.

Other than `python_calls`, which finds lists in a text, this takes the text as one list: backticks, line ends and spaces
around it are dropped, a missing bracket is added, and a single word beside the calls makes it no list at all. What it
does with values is the leaderboard's rule too, so that scores can be compared:

* arguments by position are passed over;
* a name stands for itself as text (`unit=celsius`, and also `true`), `...` for three dots;
* a call without named arguments, and an item taken out of something, stand for their source;
* arithmetic of numbers is worked out, as far as the result has a few hundred digits; texts may be added.

Nothing is evaluated. Java and JavaScript are split at the outer commas before a name: `C.m(a="x", b=new int[]{1, 2})`;
values are source text without outer quotes.
"""
from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeGuard

from BFCL.parse.literals import Refused, literal
from BFCL.parse.python_calls import LONGEST, Unread, function_name, parsed
from environment.core.calls import JsonValue

Call = Mapping[str, Mapping[str, JsonValue]]
"""Function name → argument → value."""

_OPERATIONS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: a**b,
}
_MOST_BITS = 2048
"""Of a whole number that is worked out."""
_SOURCE_CALL = re.compile(r"\s*+([\w$]++(?:\s*+\.\s*+[\w$]++)*+)\s*+\((.*)\)\s*+;?+\s*+", re.DOTALL)
_ARGUMENT = re.compile(r"\s*+([A-Za-z_$][\w$]*+)\s*+=(?![=>])(.*)", re.DOTALL)
_NAMED = re.compile(r"\s*+[A-Za-z_$][\w$]*+\s*+=(?![=>])")
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "\"'`"


def read_whole(text: str, language: str = "python") -> list[Call] | None:
    """Return the calls a text is, or None where it is no list of calls.

    Args:
        text: what the model wrote.
        language: `python`, `java` or `javascript`.
    """
    source = text.strip("`\n ")
    source = source if source.startswith("[") else f"[{source}"
    source = source if source.endswith("]") else f"{source}]"
    if len(source) > LONGEST:
        return None
    if language != "python":
        call = _source_call(source[1:-1])
        return None if call is None else [call]
    tree = parsed(source.strip("'"))
    if isinstance(tree, Unread) or not isinstance(tree, ast.List):
        return None
    try:
        return [_call(item) for item in tree.elts]
    except (Refused, ArithmeticError, RecursionError):
        return None


def _call(node: ast.expr) -> dict[str, dict[str, JsonValue]]:
    name = function_name(node)
    assert isinstance(node, ast.Call)
    return {name: {keyword.arg or "": _value(keyword.value) for keyword in node.keywords}}


def _value(node: ast.expr) -> JsonValue:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant(value=value) if value is Ellipsis:
            return "..."
        case ast.Call(keywords=[]) | ast.Subscript():
            return ast.unparse(node)
        case ast.Call():
            return _call(node)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {_key(key, value): _value(value) for key, value in zip(keys, values, strict=True)}
        case ast.BinOp(op=operation) if type(operation) in _OPERATIONS:
            return _worked_out(node, operation)
        case _:
            return literal(node)


def _key(key: ast.expr | None, value: ast.expr) -> str:
    found = None if key is None else _value(key)
    if not isinstance(found, str):
        raise Refused(key or value, "the keys of a dict must be texts")
    return found


def _worked_out(node: ast.BinOp, operation: ast.operator) -> JsonValue:
    left, right = _value(node.left), _value(node.right)
    if isinstance(left, str) and isinstance(right, str) and isinstance(operation, ast.Add):
        return left + right
    if not _is_number(left) or not _is_number(right):
        raise Refused(node, "no numbers")
    if isinstance(operation, ast.Pow) and isinstance(left, int) and abs(right) * left.bit_length() > _MOST_BITS:
        raise Refused(node, "a number of too many digits")
    found = _OPERATIONS[type(operation)](left, right)
    if not _is_number(found) or (isinstance(found, int) and found.bit_length() > _MOST_BITS):
        raise Refused(node, "no number, or one of too many digits")
    return found


def _is_number(value: JsonValue) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) != math.inf and value == value


def _source_call(source: str) -> Call | None:
    found = _SOURCE_CALL.fullmatch(source)
    if found is None:
        return None
    pieces = _split(found[2])
    if pieces is None:
        return None
    arguments: dict[str, JsonValue] = {}
    for piece in pieces:
        named = _ARGUMENT.fullmatch(piece)
        if named is None or named[1] in arguments:
            return None
        arguments[named[1]] = _unquoted(named[2].strip())
    return {re.sub(r"\s+", "", found[1]): arguments}


def _split(source: str) -> list[str] | None:
    """Return the pieces between outer commas before a name; None where a bracket or a quote isn't closed."""
    pieces: list[str] = []
    start = depth = 0
    for at, sign in _outside_quotes(source):
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif sign == "," and depth == 0 and _NAMED.match(source, at + 1):
            pieces.append(source[start:at])
            start = at + 1
        if depth < 0 or sign in _QUOTES:
            return None
    if depth:
        return None
    return [*pieces, source[start:]] if source.strip() else []


def _outside_quotes(source: str) -> Iterator[tuple[int, str]]:
    """Yield position and sign of what stands outside quotes; a quote only where it is never closed."""
    at = 0
    while at < len(source):
        sign = source[at]
        if sign in _QUOTES:
            end = _quote_end(source, at)
            if end is None:
                yield at, sign
                return
            at = end
        else:
            yield at, sign
        at += 1


def _quote_end(source: str, start: int) -> int | None:
    at = start + 1
    while at < len(source):
        if source[at] == "\\":
            at += 1
        elif source[at] == source[start]:
            return at
        at += 1
    return None


def _unquoted(value: str) -> str:
    whole = len(value) > 1 and value[0] in "\"'" and _quote_end(value, 0) == len(value) - 1
    return value[1:-1] if whole else value
