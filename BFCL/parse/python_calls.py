"""Calls as Python writes them: `[search(query="Oslo"), hotels.find(id=7, dates=["2026-05-01"])]`.

The list is found in the text, parsed to a syntax tree and walked; nothing is ever evaluated. Arguments are named and
literal: texts, numbers, lists, tuples (read as lists), dicts with text keys, True, False, None, and JSON's spellings
true, false, null. Anything else, such as a variable, a call inside a call or `2**3`, makes that one call malformed and
says where. A list that is no Python is one malformed block; one that isn't closed ends the reading.

A text that is nothing but a call, or calls with commas between, may lack its brackets.
"""
from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from BFCL.parse.literals import Refused, literal
from BFCL.parse.reading import Block, Failure, Reading, joined, reasoning_end
from environment.core.calls import JsonValue, ParseStatus

UNNAMED = "arguments must be named: name=value"
LONGEST = 100_000
"""Characters of the longest list that is parsed."""

_NAME = r"[^\W\d]\w*+(?:\.[^\W\d]\w*+)*+"
_LIST = re.compile(rf"\[\s*+{_NAME}\s*+\(")
_BARE = re.compile(rf"\s*+{_NAME}\(")
_MARKS = re.compile(r"<\|python_(?:start|end)\|>|</?answer>|```(?:python|json)?")
_SIGNS = re.compile(
    r"'''.*?'''|\"\"\".*?\"\"\""
    r"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+'|\"[^\"\\\n]*+(?:\\.[^\"\\\n]*+)*+\"|[()\[\]{}'\"]",
    re.DOTALL,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_CANNOT_PARSE = (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError)


def read_python(text: str) -> Reading:
    """Return the blocks of a text and the words outside them."""
    here = reasoning_end(text)
    blocks: list[Block] = []
    words: list[str] = []
    found = _LIST.search(text, here)
    if found is None:
        bare = _bare(text, here)
        return bare or Reading((), joined([_MARKS.sub(" ", text[here:])]))
    while found is not None:
        words.append(text[here : found.start()])
        end = _closing(text, found.start())
        here = len(text) if end is None else end
        blocks += [_unclosed(text, found.start())] if end is None else _blocks(text, found.start(), end)
        found = _LIST.search(text, here)
    words.append(text[here:])
    return Reading(tuple(blocks), joined(_MARKS.sub(" ", piece) for piece in words))


def _bare(text: str, here: int) -> Reading | None:
    """Return the reading of a text that is calls and nothing else, None for any other."""
    body = _MARKS.sub(lambda mark: " " * len(mark[0]), text[here:])
    if len(body) > LONGEST or not _BARE.match(body):
        return None
    source = f"[{body.strip()}]"
    tree = parsed(source)
    if not isinstance(tree, ast.List) or not all(isinstance(i, ast.Call) and not i.args for i in tree.elts):
        return None
    first = here + len(body) - len(body.lstrip())
    return Reading(tuple(_calls(tree, source, first - 1)), "")


def _closing(text: str, start: int) -> int | None:
    """Return where the bracket at `start` closes, None where it doesn't."""
    depth = 0
    for found in _SIGNS.finditer(text, start):
        sign = found[0]
        if sign in ("'", '"'):
            return None
        if sign in ("(", "[", "{"):
            depth += 1
        elif sign in (")", "]", "}"):
            depth -= 1
            if depth <= 0:
                return found.end()
    return None


def _unclosed(text: str, start: int) -> Block:
    failure = Failure(ParseStatus.UNCLOSED, len(text), "the list of calls is not closed")
    return Block(start, len(text), text[start:], _legible_name(text, start), {}, failure)


def _blocks(text: str, start: int, end: int) -> list[Block]:
    """Return the blocks of the list in `text[start:end]`."""
    source = text[start:end]
    if end - start > LONGEST:
        tree: ast.expr | Unread = Unread(f"longer than {LONGEST} characters", 0)
    else:
        tree = parsed(source)
    if isinstance(tree, ast.List):
        return [*_calls(tree, source, start)]
    reason, at = (tree.reason, tree.position) if isinstance(tree, Unread) else ("no list of calls", 0)
    failure = Failure(ParseStatus.MALFORMED, start + at, reason)
    return [Block(start, end, source, _legible_name(text, start), {}, failure)]


def parsed(source: str) -> ast.expr | Unread:
    """Return the syntax tree of an expression, or why there is none. Warnings about odd escapes are of no use here."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source, mode="eval").body
    except _CANNOT_PARSE as error:
        reason = error.msg if isinstance(error, SyntaxError) else str(error)
        reason = "nested too deeply" if isinstance(error, RecursionError | MemoryError) else reason
        return Unread(f"not Python: {reason}", _syntax_position(error, source))


def _syntax_position(error: BaseException, source: str) -> int:
    if not isinstance(error, SyntaxError) or error.lineno is None or error.offset is None:
        return 0
    starts = [0, *(end.end() for end in _LINE_END.finditer(source))]
    start = starts[min(max(error.lineno, 1), len(starts)) - 1]
    return min(start + max(error.offset, 1) - 1, len(source))


def _calls(tree: ast.List, source: str, base: int) -> Iterator[Block]:
    """Yield the block of each item of a list of calls; `base` is where the source begins in the text."""
    place = _Places(source)
    for item in tree.elts:
        start, end = place.of(item), place.end_of(item)
        name, arguments, failure = "", dict[str, JsonValue](), None
        try:
            name = function_name(item)
            arguments = _arguments(item)
        except Refused as error:
            failure = Failure(ParseStatus.MALFORMED, base + place.of(error.node), error.reason)
        yield Block(base + start, base + end, source[start:end], name, arguments, failure)


def function_name(node: ast.expr) -> str:
    """Return the dotted name a call calls; Refused where the node is no call of a name."""
    if not isinstance(node, ast.Call):
        raise Refused(node, "an item of the list is no call")
    parts: list[str] = []
    here: ast.expr = node.func
    while isinstance(here, ast.Attribute):
        parts.append(here.attr)
        here = here.value
    if not isinstance(here, ast.Name):
        raise Refused(here, "what is called is no name")
    return ".".join([here.id, *reversed(parts)])


def _arguments(node: ast.expr) -> dict[str, JsonValue]:
    assert isinstance(node, ast.Call)
    if node.args:
        raise Refused(node.args[0], UNNAMED)
    return named_arguments(node, UNNAMED)


def named_arguments(node: ast.Call, unpacked: str) -> dict[str, JsonValue]:
    """Return the named arguments of a call; Refused where one is no literal or comes twice, or, with the reason
    `unpacked`, where a dict is unpacked."""
    arguments: dict[str, JsonValue] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Refused(keyword.value, unpacked)
        if keyword.arg in arguments:
            raise Refused(keyword.value, f"duplicate argument {keyword.arg[:60]}")
        arguments[keyword.arg] = literal(keyword.value)
    return arguments


def _legible_name(text: str, start: int) -> str:
    found = re.compile(_NAME).search(text, start)
    return found[0] if found and found.end() - found.start() <= 100 else ""


class Unread:
    """Why a source has no syntax tree."""

    def __init__(self, reason: str, position: int) -> None:
        self.reason = reason
        self.position = position


class _Places:
    """Characters of a source from the lines and UTF-8 columns that its syntax tree counts in."""

    def __init__(self, source: str) -> None:
        self._lines = [0, *(end.end() for end in _LINE_END.finditer(source))]
        self._bytes = None if source.isascii() else [0, *accumulate(len(sign.encode()) for sign in source)]

    def of(self, node: ast.expr) -> int:
        """Return the first character of a node."""
        return self._at(node.lineno, node.col_offset)

    def end_of(self, node: ast.expr) -> int:
        """Return the character after a node."""
        return self._at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def _at(self, line: int, column: int) -> int:
        start = self._lines[min(line, len(self._lines)) - 1]
        if self._bytes is None:
            return start + column
        return bisect_left(self._bytes, self._bytes[start] + column)
