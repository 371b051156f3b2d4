"""Playing an entry as the reference does: gold answers for whatever it takes for a match, the end at a turn without.

Turns, limits and the record of what happened are the episode loop's own; only what a call is answered and when the
entry ends come from `ReferenceState`.
"""
from __future__ import annotations

from collections.abc import Mapping

from BFCL.parse.hermes import parse_turn
from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall, WorldAnswer
from environment.core.dispatch import World, waits
from environment.core.schema import ToolSchema
from environment.core.trajectory import StopReason
from environment.session.limits import Limits
from environment.session.session import Session
from environment.session.turns import AssistantTurn, ParsedTurn
from evaluation.suite import Seat
from evaluation.suites.complexfuncbench.entries import Entry
from evaluation.suites.complexfuncbench.reference import PROBLEM, ReferenceState

REFERENCE_LIMITS = Limits(
    max_turns=100, max_calls=1000, max_tokens=10_000_000, max_invalid=100, parallel_calls=1000,
    observation_tokens=None, observation_chars=None,
)  # fmt: skip
"""The reference has no limits; these keep a looping model from going on for ever."""


class ReferenceSession(Session):
    """One entry in play by the reference's rules."""

    def __init__(self, entry: Entry, world: World, limits: Limits, instructions: str | None, seat: Seat) -> None:
        """Begin; `world` tells whether a call would be answered at all."""
        self._state = ReferenceState(entry, world)
        self._read: tuple[ToolCall, ...] = ()
        super().__init__(
            entry.task(), _Answers(self._state, entry.schemas), entry.schemas, limits, self._parse, seat.sampling.seed,
            count=seat.count, instructions=instructions,
        )  # fmt: skip

    def step(self, turn: AssistantTurn) -> list[dict[str, JsonValue]]:
        """Take a turn. None is granted after one without a match, so the entry then ends by its number of turns."""
        messages = super().step(turn)
        unreadable = any(call.status is not ParseStatus.OK for call in self._read)
        if self._read and self._state.end_turn(unreadable=unreadable):
            self.abort(StopReason.MAX_TURNS)
        return messages

    def _parse(self, text: str, number: int) -> ParsedTurn:
        parsed = parse_turn(text, number)
        self._read = parsed.calls
        return parsed


class _Answers:
    """The world as the model sees it: the gold answer of what matches, one and the same complaint else."""

    def __init__(self, state: ReferenceState, schemas: Mapping[str, ToolSchema]) -> None:
        self.schemas = schemas
        self.waits = waits(state.world)
        self._state = state

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Answer one call."""
        found = self._state.take(name, arguments)
        return WorldAnswer(ResultStatus.OK, PROBLEM if found is None else found.response)
