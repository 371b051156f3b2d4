"""What a policy hands over and what a parser reads out of it."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from environment.core.calls import ToolCall


@dataclass(frozen=True)
class AssistantTurn:
    """One turn as the policy wrote it."""

    text: str
    tokens: int = 0
    """Tokens the policy generated for this turn."""
    truncated: bool = False
    """True where generation hit its token limit before the model ended the turn."""


@dataclass(frozen=True)
class ParsedTurn:
    """The calls of a turn, in order, readable or not, and the words around them."""

    calls: tuple[ToolCall, ...]
    text: str


Parser = Callable[[str, int], ParsedTurn]
"""Reads a turn: (text, turn number) → `ParsedTurn`. Total: it never raises and never drops a call."""
