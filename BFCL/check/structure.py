"""The shape of one assistant turn as text: a healthy call, healthy words, polluted, or collapsed.

    healthy_call   closed call blocks with readable bodies, and no stray control token beside them
    healthy_text   words without any control token
    polluted       control tokens out of place: a tag without its partner, an unreadable body, tags among words
    collapsed      nothing but control tokens, or nothing at all, outside the reasoning

Control tokens are the tags of calls, replies and reasoning, and `<|...|>`. A closed `<think>` block at the start is
reasoning and judged by nobody. The states exclude each other and cover any text.

Models that collapse under RL raise the probability of the opening tag and of the end of the turn and put them together
(arXiv 2606.26027): the first sign is a turn that ends right behind an opening tag. `ended_after_open` counts these
before the state of whole turns tips over; a turn cut off just there counts as well.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from BFCL.parse.hermes import parse_turn
from environment.core.calls import ParseStatus, ToolCall

CONTROL = re.compile(r"</?(?:tool_call|tool_response|tools|think)>|<\|[^|<>\s]{1,40}\|>")
"""A control token written out in a turn."""
_REASONING = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_OPEN, _CLOSE = "<tool_call>", "</tool_call>"
_ENDS = re.compile(r"<tool_call>\s*(?:<\|[^|<>\s]{1,40}\|>\s*)*\Z")
_EMPTY = re.compile(r"<tool_call>\s*</tool_call>")


class TurnState(StrEnum):
    """State of one turn; the module says what each means."""

    HEALTHY_CALL = "healthy_call"
    HEALTHY_TEXT = "healthy_text"
    POLLUTED = "polluted"
    COLLAPSED = "collapsed"


@dataclass(frozen=True, slots=True)
class TurnShape:
    """State of a turn and the counts behind the early warning."""

    state: TurnState
    opened: int
    """Opening call tags."""
    closed: int
    """Closing call tags."""
    empty: int
    """Opening tags whose closing tag follows at once."""
    ended_after_open: bool
    """The turn ends right behind an opening tag."""


def turn_shape(text: str) -> TurnShape:
    """Return the shape of an assistant turn, its end mark taken off; total, in time linear in the text."""
    reasoning = _REASONING.match(text)
    body = text[reasoning.end() :] if reasoning else text
    return TurnShape(
        state=_state(body),
        opened=body.count(_OPEN),
        closed=body.count(_CLOSE),
        empty=len(_EMPTY.findall(body)),
        ended_after_open=_ENDS.search(body) is not None,
    )


def turn_state(text: str) -> TurnState:
    """Return the state of an assistant turn; see `turn_shape`."""
    return turn_shape(text).state


def _state(body: str) -> TurnState:
    if not CONTROL.sub("", body).strip():
        return TurnState.COLLAPSED
    calls = parse_turn(body, 0).calls
    if any(call.status is not ParseStatus.OK for call in calls) or CONTROL.search(_without(body, calls)):
        return TurnState.POLLUTED
    return TurnState.HEALTHY_CALL if calls else TurnState.HEALTHY_TEXT


def _without(body: str, calls: tuple[ToolCall, ...]) -> str:
    """Return the text outside the call blocks; a tag inside a string of a call belongs to the call."""
    rest: list[str] = []
    here = 0
    for call in calls:
        start = body.find(f"{_OPEN}{call.raw}{_CLOSE}", here)
        if start < 0:
            continue
        rest.append(body[here:start])
        here = start + len(_OPEN) + len(call.raw) + len(_CLOSE)
    return "\n".join([*rest, body[here:]])
