"""What every format's reader returns: the blocks of a text, readable or not, and the words around them."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from environment.core.calls import JsonValue, ParseStatus, ToolCall
from environment.session.turns import ParsedTurn, Parser

MAX_DEPTH = 32
"""Deepest nesting of containers in a call."""

_REASONING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a block is no call."""

    status: ParseStatus
    position: int
    """The character of the turn's text where reading went wrong, from 0."""
    reason: str
    """In words for the model."""


@dataclass(frozen=True, slots=True)
class Block:
    """One call as it stands in a text."""

    start: int
    end: int
    """The block is `text[start:end]`, its marks included."""
    raw: str
    """The exact text between the marks."""
    name: str = ""
    """Empty where no name could be read."""
    arguments: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A text read in one format."""

    blocks: tuple[Block, ...]
    """In order; none overlap."""
    words: str
    """What stands outside the blocks and outside the reasoning."""


Reader = Callable[[str], Reading]
"""Reads a text: total, linear in its length, drops no block."""


def reasoning_end(text: str) -> int:
    """Return where a closed `<think>` block at the start ends; what stands in it is neither a call nor an answer."""
    found = _REASONING.match(text)
    return found.end() if found else 0


def joined(pieces: Iterable[str]) -> str:
    """Return the pieces of text between blocks as one text."""
    return " ".join(piece.strip() for piece in pieces if piece.strip())


def as_turn(reading: Reading, turn: int) -> ParsedTurn:
    """Return a reading as a session takes it; ids are `t<turn>c<position>`."""
    return ParsedTurn(tuple(_call(b, turn, at) for at, b in enumerate(reading.blocks)), reading.words)


def parser_of(read: Reader) -> Parser:
    """Return a reader as a session's parser."""

    def parse(text: str, turn: int) -> ParsedTurn:
        return as_turn(read(text), turn)

    return parse


def _call(block: Block, turn: int, position: int) -> ToolCall:
    return ToolCall(
        id=f"t{turn}c{position}",
        turn=turn,
        name=block.name,
        arguments=block.arguments,
        raw=block.raw,
        status=block.failure.status if block.failure else ParseStatus.OK,
        problem=block.failure.reason if block.failure else None,
    )
