"""Reading the calls of an answer: JSON, or Python's bracket form, `[find(city="Oslo", near=[1, 2.5], open=True)]`.

Nothing is evaluated and nothing is lost: a value is a literal (text, number, list, dict, True, None), read from
Python's own syntax tree, or the row is dropped with the reason. Names of tools and arguments need not be Python names,
as they aren't in ToolACE: `Get Weather(from="Oslo")` is read too. Time is linear in the length of the text.
"""
from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Any

from BFCL.parse import literals
from BFCL.parse.strict_json import JsonTrouble, loads
from data_synthesis.single_turn.model import Call, Drop
from environment.core.calls import JsonValue

_OPEN, _CLOSE = "([{", ")]}"
_PAIRS = dict(zip(_OPEN, _CLOSE, strict=True))
_NOT_IN_NAMES = frozenset("\"'=,[]{}()\n")


def read_calls(text: str) -> tuple[Call, ...]:
    """Return the calls of an answer; Drop where it holds none, or one that can't be read to the end."""
    body = text.strip()
    if not body:
        raise Drop("no_call", "the answer is empty")
    if body[0] in "[{":
        try:
            value = read_json(body)
        except Drop as drop:
            if drop.reason != "broken_json":  # else it has to be Python's form
                raise
        else:
            return json_calls(value)
    return tuple(_bracket_calls(body))


def json_calls(value: object) -> tuple[Call, ...]:
    """Return the calls in a decoded JSON answer."""
    found: list[Any] = value if isinstance(value, list) else [value]
    if not found:
        raise Drop("no_call", "the answer is an empty list")
    return tuple(_json_call(call, number) for number, call in enumerate(found, 1))


def read_json(text: str) -> Any:
    """Return decoded JSON, nothing lost and nothing guessed.

    Raises:
        Drop: `broken_json` where it is none; `refused_json` where it is, but has a name twice in one object, a number
            beyond 64 bits, half a surrogate pair, or no end of nesting.
    """
    try:
        return loads(text)
    except JsonTrouble as error:
        reason = "broken_json" if error.reason.startswith("not JSON") else "refused_json"
        place = "" if reason == "broken_json" else f" at character {error.position}"
        raise Drop(reason, error.reason + place) from error


def literal(text: str) -> JsonValue:
    """Return the value of a Python literal; Drop where it is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "\d" in a text is odd, but says what it says
            return literals.literal(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Drop("not_literal", f"{_short(text)} can't be read: {error}") from error


def _json_call(call: Any, number: int) -> Call:
    if not isinstance(call, dict):
        raise Drop("not_a_call", f"call {number} is {type(call).__name__}")
    inner: dict[str, Any] = call["function"] if isinstance(call.get("function"), dict) else call
    name, arguments = inner.get("name"), inner.get("arguments", inner.get("parameters"))
    if isinstance(arguments, str):
        arguments = read_json(arguments)
    if not isinstance(name, str) or not name or not isinstance(arguments, dict):
        raise Drop("not_a_call", f"call {number} lacks a name or an object of arguments: {_short(str(call))}")
    return Call(name, arguments)


def _bracket_calls(body: str) -> Iterator[Call]:
    if body.startswith("["):
        if not body.endswith("]"):
            raise Drop("unbalanced", f"the list of calls is never closed: {_short(body)}")
        body = body[1:-1]
    at = 0
    while True:
        start = body.find("(", at)
        name = body[at:start].strip()
        if start < 0 or not name or not _NOT_IN_NAMES.isdisjoint(name):
            raise Drop("no_call", f"no call at {_short(body[at:])}")
        end = _closing(body, start)
        yield Call(name, dict(_arguments(body[start + 1 : end], name)))
        rest = body[end + 1 :].lstrip()
        if not rest:
            return
        if not rest.startswith(","):
            raise Drop("not_a_call", f"text after a call: {_short(rest)}")
        at = len(body) - len(rest) + 1
        if not body[at:].strip():
            return  # a comma after the last call


def _arguments(text: str, name: str) -> Iterator[tuple[str, JsonValue]]:
    seen: set[str] = set()
    for part in _split(text):
        argument, sign, value = part.partition("=")
        argument = argument.strip()
        if not sign or not argument or not _NOT_IN_NAMES.isdisjoint(argument) or argument.startswith("*"):
            raise Drop("no_name", f"{name}: an argument without a name: {_short(part)}")
        if argument in seen:
            raise Drop("name_twice", f"{name}: {argument!r} is given twice")
        seen.add(argument)
        yield argument, literal(value)


def _split(text: str) -> Iterator[str]:
    """Yield what stands between the commas of the outermost level."""
    start = at = 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _after_quote(text, at)
        elif char in _OPEN:
            at = _closing(text, at) + 1
        elif char == ",":
            yield text[start:at]
            start = at = at + 1
        else:
            at += 1
    if text[start:].strip():
        yield text[start:]


def _closing(text: str, start: int) -> int:
    """Return where the bracket that opens at `start` is closed."""
    wanted: list[str] = []
    at = start
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = _after_quote(text, at)
            continue
        if char in _PAIRS:
            wanted.append(_PAIRS[char])
        elif char in _CLOSE:
            if wanted.pop() != char:
                raise Drop("unbalanced", f"{char!r} closes nothing at {_short(text[start:])}")
            if not wanted:
                return at
        at += 1
    raise Drop("unbalanced", f"a bracket is never closed: {_short(text[start:])}")


def _after_quote(text: str, start: int) -> int:
    """Return where the text goes on after the string that begins at `start`."""
    mark = text[start] * 3 if text.startswith(text[start] * 3, start) else text[start]
    at = start + len(mark)
    while at < len(text):
        if text[at] == "\\":
            at += 2
        elif text.startswith(mark, at):
            return at + len(mark)
        else:
            at += 1
    raise Drop("unbalanced", f"a text is never closed: {_short(text[start:])}")


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:80] + "…"
