"""Episodes: one turn that is only read, or a conversation about a simulated world."""
from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from BFCL.data.rows import MultiTurnRow, SingleTurnRow
from BFCL.execute.world import FAILED, World
from BFCL.parse.one_call import write_call
from environment.core.calls import ResultStatus, ToolCall, ToolResult
from environment.core.trajectory import StopReason, Trajectory
from environment.session.prompt import Message, assistant_message
from environment.session.turns import AssistantTurn
from evaluation.policy.chat import CountingPolicy
from evaluation.suite import Seat
from evaluation.suites.bfcl.official import MAX_STEPS
from evaluation.suites.bfcl.styles import Calls, Style

READ = "bfcl_calls"
"""Key of `Trajectory.meta`: the decoded calls of a single turn, None where it can't be read as calls."""
MADE = "bfcl_model_calls"
"""Key of `Trajectory.meta`: turns of steps of calls as Python, what `tool-rl check multi-turn` takes."""


async def play_single(row: SingleTurnRow, seat: Seat, style: Style) -> Trajectory:
    """Ask once and read the answer."""
    policy = seat.converse(style.tools(row.functions, row.category))
    kept = _Kept(row.id, style.opening(row.question, row.functions, row.category))
    turn = await policy.act(list(kept.messages))
    calls = style.read(turn.text, row.functions, row.category)
    kept.said(turn, calls or [])
    return kept.trajectory(_single_stop(turn), {READ: calls})


async def play_conversation(row: MultiTurnRow, seat: Seat, style: Style) -> Trajectory:
    """Play every turn of a row in a world of its own.

    A turn is over when the model makes no call that can be read. A model that makes more than `MAX_STEPS` steps in one
    turn is cut off there, and so is one whose conversation no longer fits its context.
    """
    return await _Conversation(row, style, seat.converse(style.tools(row.functions, row.category))).play()


class _Conversation:
    """One episode of a multi-turn row."""

    def __init__(self, row: MultiTurnRow, style: Style, policy: CountingPolicy) -> None:
        self.row, self.style, self.policy = row, style, policy
        self.world = World(row.classes, row.config, long_context=row.long_context)
        self.offered = list(row.functions)
        self.kept = _Kept(row.id)
        self.made: list[list[list[str]]] = []

    async def play(self) -> Trajectory:
        stop = StopReason.ANSWER
        for number in range(len(self.row.turns)):
            stop = await self._turn(self._asked(number))
            if stop is not StopReason.ANSWER:
                break
        return self.kept.trajectory(stop, {MADE: self.made})

    def _asked(self, number: int) -> list[Message]:
        """Return what a turn begins with; functions that were held back are on offer from here on."""
        row, question = self.row, self.row.turns[number]
        if number in row.revealed:
            self.offered += row.revealed[number]
            self.policy.tools = self.style.tools(self.offered, row.category)
            return self.style.revealed(row.revealed[number])
        return [dict(m) for m in question] if number else self.style.opening(question, self.offered, row.category)

    async def _turn(self, told: list[Message]) -> StopReason:
        """Let the model act until it makes no call; return why the turn ended, `answer` being the ordinary end."""
        steps: list[list[str]] = []
        while len(steps) <= MAX_STEPS:
            self.kept.messages += told
            turn = await self.policy.act(told)
            if beyond_context(turn):
                return StopReason.MAX_TOKENS
            calls = self.style.read(turn.text, self.offered, self.row.category) or []
            self.kept.said(turn, calls)
            if not calls:
                self.made.append(steps)
                return StopReason.ANSWER
            steps.append([write_call(name, given) for call in calls for name, given in call.items()])
            observations = await asyncio.to_thread(self.world.run, steps[-1])
            self.kept.observed(observations)
            told = self.style.results(steps[-1], observations)
        self.made.append(steps)
        return StopReason.MAX_TURNS


def beyond_context(turn: AssistantTurn) -> bool:
    """Tell whether nothing could be written, since the conversation fills the model's context."""
    return turn.truncated and not turn.text and not turn.tokens


def _single_stop(turn: AssistantTurn) -> StopReason:
    return StopReason.MAX_TOKENS if turn.truncated else StopReason.ANSWER


@dataclass
class _Kept:
    """What an episode leaves, as it grows."""

    id: str
    messages: list[Message] = field(default_factory=list[Message])
    calls: list[ToolCall] = field(default_factory=list[ToolCall])
    results: list[ToolResult] = field(default_factory=list[ToolResult])
    turns: int = 0
    answer: str = ""

    def said(self, turn: AssistantTurn, calls: Calls) -> None:
        """Add a turn and the calls that were read in it."""
        self.messages.append(assistant_message(turn.text))
        for position, (name, given) in enumerate(pair for call in calls for pair in call.items()):
            identity = f"t{self.turns}c{position}"
            self.calls.append(ToolCall(identity, self.turns, name, given, write_call(name, given)))
        self.turns += 1
        self.answer = "" if calls else turn.text

    def observed(self, observations: Sequence[str]) -> None:
        """Add what came of the last calls."""
        for call, seen in zip(self.calls[len(self.results) :], observations, strict=True):
            status = ResultStatus.UPSTREAM_ERROR if seen.startswith(FAILED) else ResultStatus.OK
            self.results.append(ToolResult(call.id, status, seen, seen))

    def trajectory(self, stop: StopReason, meta: dict[str, Any]) -> Trajectory:
        """Return the episode; calls that were only read have a result that says so."""
        unmade = self.calls[len(self.results) :]
        results = [*self.results, *(ToolResult(call.id, ResultStatus.NOT_EXECUTED, None, "") for call in unmade)]
        answer = self.answer if stop is StopReason.ANSWER else ""
        return Trajectory(self.id, tuple(self.messages), tuple(self.calls), tuple(results), (), stop, answer, meta=meta)
