"""Playing an entry as the reference does: gold answers for whatever it takes for a match, the end at a turn without.

Turns, limits and the record of what happened are the episode loop's own; only what a call is answered and when the
entry ends come from `ReferenceState`.
"""
from __future__ import annotations

from collections.abc import Mapping

from BFCL.parse.hermes import parse_turn
from environment.core.calls import JsonValue, ParseStatus, ResultStatus, WorldAnswer
from environment.core.dispatch import World
from environment.core.schema import ToolSchema
from environment.core.trajectory import StopReason, Trajectory
from environment.session.drive import Policy, drive
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


class ReferenceSession:
    """One entry in play."""

    def __init__(self, entry: Entry, world: World, limits: Limits, instructions: str | None, seat: Seat) -> None:
        """Begin; `world` answers the question whether a call would be answered at all."""
        self._state = ReferenceState(entry, world)
        self._turn: ParsedTurn | None = None
        self._session = _EndingSession(
            entry.task(), _Answers(self._state, entry.schemas), entry.schemas, limits, self._parse, seat.sampling.seed,
            count=seat.count, instructions=instructions,
        )  # fmt: skip
        self._session.ended = self._ended

    async def play(self, policy: Policy) -> Trajectory:
        """Return what happened."""
        return await drive(policy, self._session)

    def _parse(self, text: str, number: int) -> ParsedTurn:
        self._turn = parse_turn(text, number)
        return self._turn

    def _ended(self) -> bool:
        calls = self._turn.calls if self._turn is not None else ()
        return bool(calls) and self._state.end_turn(unreadable=any(c.status is not ParseStatus.OK for c in calls))


class _EndingSession(Session):
    """A session that asks after each turn whether the entry goes on."""

    def ended(self) -> bool:
        """Tell whether the entry is over; replaced by who plays it."""
        return False

    def step(self, turn: AssistantTurn) -> list[dict[str, JsonValue]]:
        """Take a turn. No turn is granted after one without a match, so the entry ends by its number of turns."""
        messages = super().step(turn)
        if self.ended():
            self.abort(StopReason.MAX_TURNS)
        return messages


class _Answers:
    """The world as the model sees it: the gold answer of what matches, one and the same complaint else."""

    def __init__(self, state: ReferenceState, schemas: Mapping[str, ToolSchema]) -> None:
        self.schemas = schemas
        self.waits = bool(getattr(state.world, "waits", False))
        self._state = state

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Answer one call."""
        found = self._state.take(name, arguments)
        return WorldAnswer(ResultStatus.OK, PROBLEM if found is None else found.response)
