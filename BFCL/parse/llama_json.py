"""Calls in Llama 3's JSON format: `{"name": ..., "parameters": {...}}`, after `<|python_tag|>` or by themselves.

Several calls stand one after another, apart by `;`, or in a list. Without the tag an object is a call only if it begins
with `name`, `parameters`, `arguments`, `type` or `function`, so braces in prose stay prose; after the tag whatever
stands there was meant as one. `arguments` is taken for `parameters`. An object that isn't closed ends the
reading: all that follows belongs to it.
"""
from __future__ import annotations

import re
from dataclasses import replace

from BFCL.parse.json_calls import Body, read_call
from BFCL.parse.reading import Block, Reading, joined, reasoning_end
from BFCL.parse.strict_json import balanced_end
from environment.core.calls import ParseStatus

KEYS = ("parameters", "arguments")
TAG = "<|python_tag|>"

_CALL = r'\{\s*+"(?:name|type|function|parameters|arguments)"\s*+:'
_START = re.compile(rf"<\|python_tag\|>|{_CALL}")
_AFTER_TAG = re.compile(rf"[\s\[\ufeff]*+(?={_CALL})")
_MARKS = re.compile(r"<\|(?:python_tag|eom_id|eot_id)\|>")
_BETWEEN = frozenset("[];, \t\r\n\ufeff")


def read_llama_json(text: str) -> Reading:
    """Return the blocks of a text and the words outside them."""
    here = reasoning_end(text)
    blocks: list[Block] = []
    words: list[str] = []
    start = _next_start(text, here)
    while start is not None:
        words.append(text[here:start].rstrip().removesuffix("["))
        blocks.append(_block(text, start))
        here = blocks[-1].end
        start = _next_start(text, here)
    words.append(text[here:])
    words[1:] = [piece.lstrip().removeprefix("]") for piece in words[1:]]
    cleaned = [_MARKS.sub(" ", piece) for piece in words]
    return Reading(tuple(blocks), joined(piece for piece in cleaned if not _BETWEEN.issuperset(piece)))


def _next_start(text: str, here: int) -> int | None:
    """Return where the next call begins: at an object like a call, or right after a tag that none follows."""
    found = _START.search(text, here)
    if found is None or found[0] != TAG:
        return found.start() if found else None
    follows = _AFTER_TAG.match(text, found.end())
    return follows.end() if follows else found.end()


def _block(text: str, start: int) -> Block:
    if text.startswith("{", start):
        end = balanced_end(text, start)
        raw = text[start : len(text) if end is None else end]
        body = read_call(raw, KEYS)
        if end is None:
            body = _unclosed(body, raw)
        return body.block(start, start + len(raw), raw, start)
    stop = _MARKS.search(text, start)
    raw = text[start : stop.start() if stop else len(text)]
    return read_call(raw, KEYS).block(start, start + len(raw), raw, start)


def _unclosed(body: Body, raw: str) -> Body:
    return replace(body, status=ParseStatus.UNCLOSED, problem="the call is not closed", position=len(raw))
