"""The form of what was written: is every turn nothing but reasoning and calls, or one answer?

Two published forms are known:

    tool_call   [<think>…</think>] <tool_call>{json}</tool_call>…      a turn; one without calls is plain text
    answer      <think>…</think> <answer>[f(a=1), …]</answer>          the whole response, one turn

A turn that calls holds nothing besides. Marks of calls, replies, reasoning and answers anywhere else break the form,
so a reply the model wrote itself, a nested block and a call in prose are all wrong.
"""
from __future__ import annotations

import re
from collections.abc import Sequence

from BFCL.parse.hermes import read_hermes
from BFCL.parse.python_calls import read_python
from BFCL.parse.reading import Block, reasoning_end
from environment.core.trajectory import Trajectory

_MARK = re.compile(r"</?(?:think|answer|tool_call|tool_response)>|<\|[a-z_]{1,40}\|>")
_ANSWER = re.compile(r"\s*<think>(.*?)</think>\s*<answer>(.*)</answer>\s*", re.DOTALL)


def assistant_turns(trajectory: Trajectory) -> list[str]:
    """Return what the assistant wrote, turn by turn."""
    contents = [m.get("content") for m in trajectory.messages if m.get("role") == "assistant"]
    return [content if isinstance(content, str) else "" for content in contents]


def tool_call_form(turns: Sequence[str], think: bool) -> bool:
    """Say whether every turn has the form `tool_call`.

    Args:
        turns: what was written; none at all is no form.
        think: whether each must begin with a closed `<think>` block. Without it one is allowed.
    """
    return bool(turns) and all(_turn_form(turn, think) for turn in turns)


def answer_calls(turns: Sequence[str]) -> tuple[Block, ...] | None:
    """Return the calls of a response of the form `answer`, None for any other. No call is ever evaluated."""
    found = _ANSWER.fullmatch(turns[0]) if len(turns) == 1 else None
    if found is None or _MARK.search(found[1]) or _MARK.search(found[2]):
        return None
    listed = found[2].strip()
    if not (listed.startswith("[") and listed.endswith("]")):
        return None
    reading = read_python(listed)
    if any(block.failure for block in reading.blocks) or (not reading.blocks and listed[1:-1].strip()):
        return None
    return None if reading.blocks and reading.words else reading.blocks


def _turn_form(turn: str, think: bool) -> bool:
    start = reasoning_end(turn)
    if think and not start:
        return False
    reasoning = turn[:start].strip().removeprefix("<think>").removesuffix("</think>")
    reading = read_hermes(turn)
    if _MARK.search(reasoning) or any(block.failure for block in reading.blocks):
        return False
    outside = _outside(turn, start, reading.blocks)
    return not outside.strip() if reading.blocks else not _MARK.search(outside)


def _outside(turn: str, start: int, blocks: Sequence[Block]) -> str:
    ends = [start, *(block.end for block in blocks)]
    starts = [*(block.start for block in blocks), len(turn)]
    return "".join(turn[a:b] for a, b in zip(ends, starts, strict=True))
