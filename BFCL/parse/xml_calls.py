"""Calls in tags: `<function=name><parameter=x>value</parameter></function>`, with or without `<tool_call>` around.

A value is text, of which one line end at either side is dropped. It becomes a number, list, object, true, false or null
only where the JSON of that value is the very text, so `5` is a number and `007`, `1.50` and `1e5` stay as written: what
a parameter really takes is the schema's to say. The body may also be one JSON object, as Llama's custom format has it.

A `</function>` inside a parameter does not end the call. A parameter that isn't closed, one that stands twice and text
between parameters make the call malformed; a `<tool_call>` without a function in it is no call.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from BFCL.parse.reading import Block, Failure, Reading, joined, reasoning_end
from BFCL.parse.strict_json import JsonTrouble, loads
from environment.core.calls import JsonValue, ParseStatus
from environment.session.json_text import is_list, is_object

_TAG = re.compile(
    r"<function=(?P<name>[^<>\n]{0,100})>|(?P<close></function>)|<parameter=[^<>\n]{0,100}>|(?P<done></parameter>)"
    r"|(?P<empty><tool_call>(?!\s*+<function=))"
)
_PARAMETER = re.compile(r"<parameter=([^<>\n]{0,100})>")
_CLOSED = "</parameter>"
_WRAPPER = re.compile(r"</?tool_call>")
_EXPECTED = "expected <function=NAME><parameter=ARGUMENT>value</parameter></function>"


class _Trouble(Exception):
    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason, self.position = reason, position


def read_xml(text: str) -> Reading:
    """Return the blocks of a text and the words outside them."""
    here = reasoning_end(text)
    blocks: list[Block] = []
    words: list[str] = []
    tags = _TAG.finditer(text, here)
    tag = next(tags, None)
    while tag is not None:
        if tag["name"] is None and tag["empty"] is None:
            tag = next(tags, None)
            continue
        words.append(text[here : tag.start()])
        block, tag = _empty(text, tag, tags) if tag["empty"] else _function(text, tag, tags)
        blocks.append(block)
        here = block.end
    return Reading(tuple(blocks), joined(_WRAPPER.sub(" ", piece) for piece in [*words, text[here:]]))


def _function(
    text: str, opening: re.Match[str], tags: Iterator[re.Match[str]]
) -> tuple[Block, re.Match[str] | None]:
    """Return the block of an opening tag, and the tag to go on with."""
    inside, close, tag = False, None, None
    for tag in tags:
        if tag["name"] is not None or tag["empty"] is not None:
            break
        if tag["close"] is not None:
            close = close or tag
            if not inside:
                return _closed(text, opening, tag), next(tags, None)
        else:
            inside = tag["done"] is None
    else:
        tag = None
    if close is not None:
        return _closed(text, opening, close), tag
    end = tag.start() if tag else len(text)
    failure = Failure(ParseStatus.UNCLOSED, end, "the call is not closed")
    return Block(opening.start(), end, text[opening.end() : end], opening["name"].strip(), {}, failure), tag


def _closed(text: str, opening: re.Match[str], closing: re.Match[str]) -> Block:
    raw = text[opening.end() : closing.start()]
    arguments: dict[str, JsonValue] = {}
    failure = None
    name = opening["name"].strip()
    try:
        if not name:
            raise _Trouble(f"no name; {_EXPECTED}", 0)
        arguments = _arguments(raw)
    except _Trouble as error:
        failure = Failure(ParseStatus.MALFORMED, opening.end() + error.position, error.reason)
    return Block(opening.start(), closing.end(), raw, name, arguments, failure)


def _empty(text: str, opening: re.Match[str], tags: Iterator[re.Match[str]]) -> tuple[Block, re.Match[str] | None]:
    after = next((t for t in tags if t["name"] is not None or t["empty"] is not None), None)
    limit = after.start() if after else len(text)
    close = text.find("</tool_call>", opening.end(), limit)
    end = limit if close < 0 else close + len("</tool_call>")
    raw = text[opening.end() : end if close < 0 else close]
    failure = Failure(ParseStatus.NOT_A_CALL, opening.end(), f"no function; {_EXPECTED}")
    return Block(opening.start(), end, raw, "", {}, failure), after


def _arguments(raw: str) -> dict[str, JsonValue]:
    if raw.lstrip().startswith("{"):
        return _json_object(raw)
    found = [*_PARAMETER.finditer(raw)]
    _no_text(raw[: found[0].start() if found else len(raw)], 0)
    arguments: dict[str, JsonValue] = {}
    for at, tag in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(raw)
        name, close = tag[1].strip(), raw.rfind(_CLOSED, tag.end(), end)
        if close < 0:
            raise _Trouble(f"parameter {name} is not closed", end)
        if not name or name in arguments:
            raise _Trouble(f"duplicate parameter {name}" if name else "a parameter without a name", tag.start())
        _no_text(raw[close + len(_CLOSED) : end], close + len(_CLOSED))
        arguments[name] = _value(raw[tag.end() : close])
    return arguments


def _json_object(raw: str) -> dict[str, JsonValue]:
    try:
        value = loads(raw)
    except JsonTrouble as error:
        raise _Trouble(error.reason, error.position) from error
    if not is_object(value):
        raise _Trouble(f"the arguments are no object; {_EXPECTED}", 0)
    return value


def _no_text(piece: str, position: int) -> None:
    if piece.strip():
        raise _Trouble(f"text between the parameters: {piece.strip()[:40]}", position)


def _value(text: str) -> JsonValue:
    text = text.removeprefix("\n").removesuffix("\n")
    try:
        value = loads(text)
    except JsonTrouble:
        return text
    if is_object(value) or is_list(value):
        return value
    return value if not isinstance(value, str) and orjson.dumps(value).decode() == text else text
