"""How a trajectory went about its task, whatever the task: classes of calls, repeats, turns, end, shape of its turns.

Counts only, so that a step of training, an evaluation and a viewer can add them up alike. Needs no gold chain.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from BFCL.check.structure import TurnShape, turn_shape
from environment.core.calls import ParseStatus, ResultStatus, ToolCall
from environment.core.canonical import json_key
from environment.core.trajectory import StopReason, Trajectory

CALL_CLASSES = tuple(
    [status.value for status in ParseStatus if status is not ParseStatus.OK] + [status.value for status in ResultStatus]
)
"""A call that can't be read is of its parse status's class, any other of its result's; every call has one."""


@dataclass(frozen=True)
class Conduct:
    """What one trajectory did."""

    turns: int
    calls: Mapping[str, int]
    """How many calls of each class; classes without any are left out."""
    repeats: int
    """Calls that say the same as an earlier one, to the letter; a call that timed out may be made again."""
    stop: StopReason
    shapes: tuple[TurnShape, ...]
    """One an assistant turn, in order."""
    void_turn: bool
    """A turn held neither a readable call nor an answer."""

    @property
    def made(self) -> int:
        """Calls in all, unreadable ones included."""
        return sum(self.calls.values())

    @property
    def truncated(self) -> bool:
        """The token budget ended the episode."""
        return self.stop is StopReason.MAX_TOKENS

    @property
    def void(self) -> bool:
        """The infrastructure failed: what was done says nothing about the policy."""
        return self.stop is StopReason.INFRASTRUCTURE


def conduct(trajectory: Trajectory) -> Conduct:
    """Return what a trajectory did; total, for any trajectory."""
    status = {result.call_id: result.status for result in trajectory.results}
    turns = [str(m.get("content") or "") for m in trajectory.messages if m.get("role") == "assistant"]
    return Conduct(
        turns=len(turns),
        calls=Counter(_class(call, status) for call in trajectory.calls),
        repeats=_repeats(trajectory.calls, status),
        stop=trajectory.stop,
        shapes=tuple(map(turn_shape, turns)),
        void_turn=_void_turn(trajectory, len(turns)),
    )


def _class(call: ToolCall, status: Mapping[str, ResultStatus]) -> str:
    if call.status is not ParseStatus.OK:
        return call.status.value
    return status.get(call.id, ResultStatus.NOT_EXECUTED).value


def _repeats(calls: tuple[ToolCall, ...], status: Mapping[str, ResultStatus]) -> int:
    heard: set[str] = set()
    repeats = 0
    for call in calls:
        if status.get(call.id) is ResultStatus.TIMEOUT:
            continue
        said = f"{call.name} {json_key(call.arguments) if call.status is ParseStatus.OK else call.raw}"
        repeats += said in heard
        heard.add(said)
    return repeats


def _void_turn(trajectory: Trajectory, turns: int) -> bool:
    useful = {call.turn for call in trajectory.calls if call.status is ParseStatus.OK}
    if trajectory.stop is StopReason.ANSWER and trajectory.answer.strip():
        useful.add(turns - 1)
    return any(turn not in useful for turn in range(turns))
