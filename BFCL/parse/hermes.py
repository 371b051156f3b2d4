"""Calls in the hermes format: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`.

`parse_turn` takes any text. It never raises, never drops a block and needs time linear in the text: a block that
can't be read becomes a call with a status, a problem in words for the model, and the name if that was legible.

The odd cases:

* A closing tag inside a JSON string does not end the block, as long as the block closes a few tags further on.
* An opening tag whose block does not close before the next opening tag is `unclosed`; the next block stands for itself.
* A closing tag without an opening one is plain text.
* `arguments` may be a JSON object written as a string.
* What stands in a closed `<think>` block at the start is reasoning: it is neither a call nor an answer.
* What `strict_json` refuses is malformed, so that every call can be stored and compared, and has one meaning.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, replace

from BFCL.parse.json_calls import Body, read_call
from BFCL.parse.reading import MAX_DEPTH, Block, Reading, as_turn, joined, reasoning_end
from environment.core.calls import ParseStatus
from environment.session.turns import ParsedTurn

__all__ = ["MAX_DEPTH", "parse_turn", "read_hermes"]

TAGS_AHEAD = 8
"""How many tags beyond an opening one are looked at for its closing tag; this keeps the time linear."""

_TAG = re.compile(r"<(/?)tool_call>")


@dataclass(frozen=True, slots=True)
class _Tag:
    closing: bool
    start: int
    end: int


def parse_turn(text: str, turn: int) -> ParsedTurn:
    """Return the calls of an assistant turn in order, and the words outside them."""
    return as_turn(read_hermes(text), turn)


def read_hermes(text: str) -> Reading:
    """Return the blocks of a text and the words outside them."""
    here = reasoning_end(text)
    tags = [_Tag(bool(found[1]), found.start(), found.end()) for found in _TAG.finditer(text, here)]
    blocks: list[Block] = []
    words: list[str] = []
    index = 0
    while index < len(tags):
        words.append(text[here : tags[index].start])
        if tags[index].closing:
            here, index = tags[index].end, index + 1
            continue
        block, index = _block(text, tags, index)
        blocks.append(block)
        here = block.end
    return Reading(tuple(blocks), joined([*words, text[here:]]))


def _block(text: str, tags: list[_Tag], index: int) -> tuple[Block, int]:
    """Return the block that the opening tag at `index` begins, and the tag after it.

    It ends at the first closing tag, or at a later one if the first ones stand inside a string.
    """
    tag = tags[index]
    for i in range(index + 1, min(index + 1 + TAGS_AHEAD, len(tags))):
        if not tags[i].closing:
            continue
        raw = text[tag.end : tags[i].start]
        body = read_call(raw)
        if body.problem is None:
            return body.block(tag.start, tags[i].end, raw, tag.end), i + 1
        if not body.cut_in_string:
            break
    after = index + 1
    if after < len(tags) and tags[after].closing:
        raw = text[tag.end : tags[after].start]
        return read_call(raw).block(tag.start, tags[after].end, raw, tag.end), after + 1
    end = tags[after].start if after < len(tags) else len(text)
    return _unclosed(text[tag.end : end]).block(tag.start, end, text[tag.end : end], tag.end), after


def _unclosed(raw: str) -> Body:
    body = read_call(raw)
    return replace(body, status=ParseStatus.UNCLOSED, problem="the call is not closed", position=len(raw))
