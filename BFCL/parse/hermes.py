"""Calls in the hermes format: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

`parse_turn` takes any text. It never raises, never drops a block and needs time linear in the text: a block that
can't be read becomes a call with a status, a problem in words for the model, and the name if that was legible.

The odd cases:

* A closing tag inside a JSON string does not end the block, as long as the block closes a few tags further on.
* An opening tag whose block does not close before the next opening tag is `unclosed`; the next block stands for itself.
* A closing tag without an opening one is plain text.
* `arguments` may be a JSON object written as a string.
* What stands in a closed `<think>` block at the start is reasoning: it is neither a call nor an answer.
* Numbers no JSON writer can give back (NaN, infinities, integers beyond 64 bits), unpaired surrogates and nesting
  beyond `MAX_DEPTH` are malformed, so that every call can be stored and compared.
"""
from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field, replace

from environment.core.calls import JsonValue, ParseStatus, ToolCall
from environment.session.json_text import clean_text, is_list, is_object
from environment.session.turns import ParsedTurn

MAX_DEPTH = 32
"""Deepest nesting of containers in a call."""
TAGS_AHEAD = 8
"""How many tags beyond an opening one are looked at for its closing tag; this keeps the time linear."""

LONGEST_INT = 20
"""Characters of the longest integer within 64 bits."""

_TAG = re.compile(r"<(/?)tool_call>")
_REASONING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,100})"')
_EXPECTED = 'expected {"name": ..., "arguments": {...}}'


@dataclass(frozen=True)
class _Tag:
    closing: bool
    start: int
    end: int


@dataclass(frozen=True)
class _Body:
    """What was read between two tags."""

    status: ParseStatus
    name: str = ""
    arguments: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    problem: str | None = None
    cut_in_string: bool = False
    """The text ended inside a string: the closing tag may be part of it."""


@dataclass(frozen=True)
class _Block:
    """One block of the text, which goes on at `end` with the tag numbered `next_tag`."""

    raw: str
    body: _Body
    end: int
    next_tag: int


def parse_turn(text: str, turn: int) -> ParsedTurn:
    """Return the calls of an assistant turn in order, and the words outside them."""
    reasoning = _REASONING.match(text)
    here = reasoning.end() if reasoning else 0
    tags = [_Tag(bool(found[1]), found.start(), found.end()) for found in _TAG.finditer(text, here)]
    calls: list[ToolCall] = []
    words: list[str] = []
    index = 0
    while index < len(tags):
        words.append(text[here : tags[index].start])
        if tags[index].closing:
            here, index = tags[index].end, index + 1
            continue
        block = _block(text, tags, index)
        calls.append(_call(block, turn, len(calls)))
        here, index = block.end, block.next_tag
    words.append(text[here:])
    return ParsedTurn(tuple(calls), " ".join(word.strip() for word in words if word.strip()))


def _block(text: str, tags: list[_Tag], index: int) -> _Block:
    """Return the block that the opening tag at `index` begins.

    It ends at the first closing tag, or at a later one if the first ones stand inside a string.
    """
    start = tags[index].end
    for i in range(index + 1, min(index + 1 + TAGS_AHEAD, len(tags))):
        if not tags[i].closing:
            continue
        body = _read(text[start : tags[i].start])
        if body.problem is None:
            return _Block(text[start : tags[i].start], body, tags[i].end, i + 1)
        if not body.cut_in_string:
            break
    after = index + 1
    if after < len(tags) and tags[after].closing:
        raw = text[start : tags[after].start]
        return _Block(raw, _read(raw), tags[after].end, after + 1)
    end = tags[after].start if after < len(tags) else len(text)
    raw = text[start:end]
    body = replace(_read(raw), status=ParseStatus.UNCLOSED, problem="the call is not closed")
    return _Block(raw, body, end, after)


def _call(block: _Block, turn: int, position: int) -> ToolCall:
    body = block.body
    return ToolCall(
        id=f"t{turn}c{position}",
        turn=turn,
        name=body.name,
        arguments=body.arguments,
        raw=block.raw,
        status=body.status,
        problem=body.problem,
    )


def _read(raw: str) -> _Body:
    """Read the text between two tags."""
    try:
        value = _loads(raw)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at character {error.pos}"
        in_string = error.msg.startswith("Unterminated string")
        return _Body(ParseStatus.MALFORMED_JSON, _legible_name(raw), problem=problem, cut_in_string=in_string)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        return _Body(ParseStatus.MALFORMED_JSON, _legible_name(raw), problem=problem)
    return _understand(value)


def _understand(value: JsonValue) -> _Body:
    """Turn a JSON value into a call, if it is one."""
    if not is_object(value):
        return _Body(ParseStatus.NOT_A_CALL, problem=f"{_kind(value)} is not a call; {_EXPECTED}")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return _Body(ParseStatus.NOT_A_CALL, problem=f"no name; {_EXPECTED}")
    if "arguments" not in value:
        return _Body(ParseStatus.NOT_A_CALL, name, problem=f"no arguments; {_EXPECTED}")
    arguments = value["arguments"]
    if isinstance(arguments, str):
        arguments = _object_in(arguments)
    if not is_object(arguments):
        return _Body(ParseStatus.NOT_A_CALL, name, problem=f"arguments must be an object; {_EXPECTED}")
    return _Body(ParseStatus.OK, name, arguments)


def _object_in(text: str) -> JsonValue:
    """Return the value of arguments written as a JSON string; None where it holds no JSON."""
    try:
        return _loads(text)
    except (ValueError, RecursionError):
        return None


def _loads(text: str) -> JsonValue:
    """Parse JSON strictly; ValueError or RecursionError where it can't be stored again just as it is."""
    value = json.loads(text, parse_constant=_no_constant, parse_int=_bounded_int, parse_float=_finite_float)
    _check_strings_and_depth(value)
    return value


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _bounded_int(digits: str) -> int:
    value = int(digits) if len(digits) <= LONGEST_INT else None
    if value is None or not -(2**63) <= value < 2**64:
        raise ValueError("number out of range")
    return value


def _finite_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("number out of range")
    return value


def _check_strings_and_depth(value: JsonValue) -> None:
    stack: list[tuple[JsonValue, int]] = [(value, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise RecursionError
        if is_object(node):
            stack += [(child, depth + 1) for pair in node.items() for child in pair]
        elif is_list(node):
            stack += [(child, depth + 1) for child in node]
        elif isinstance(node, str) and clean_text(node) != node:
            raise ValueError("unpaired surrogate in a string")


def _legible_name(raw: str) -> str:
    found = _NAME.search(raw)
    return found[1] if found else ""


def _kind(value: JsonValue) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a list" if is_list(value) else "a string" if isinstance(value, str) else "a number"
