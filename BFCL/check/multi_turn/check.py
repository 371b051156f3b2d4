"""`check`: a rollout of a multi-turn row against its gold calls, turn by turn.

A turn with gold calls is right when

    there is a call in it,
    the public state of the world equals the state that the gold calls leave, and
    the observations of all calls so far hold those of the turn's gold calls, each as often.

So calls without effect are free, and a value looked up in an earlier turn need not be looked up again. A turn without
gold calls is not judged: what is done there shows at the next one that is. A rollout with fewer or more turns than the
row was cut off, and is wrong.

Verdicts are those of the leaderboard's checker in a fresh process, error type included; `differences` lists where ours
differ and why.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from BFCL.check.multi_turn.gold import GoldTurn, State, gold_of
from BFCL.data.rows import MultiTurnRow
from BFCL.execute.deadline import Overdue, within
from BFCL.execute.world import CALL_SECONDS, World

Steps = Sequence[Sequence[str]]
"""One turn: what was called in each step, as Python; a step without calls counts for nothing."""

CUT_OFF = "multi_turn:force_terminated"
NO_CALLS = "multi_turn:empty_turn_model_response"
OTHER_STATE = "multi_turn:instance_state_mismatch"
NOT_LOOKED_UP = "multi_turn:execution_response_mismatch"


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """What the checker says of one rollout."""

    error_type: str = ""
    """Name of the first mistake, as the leaderboard calls it; empty where there is none."""
    turn: int | None = None
    """The turn it was found after, from 0; None where there is none or the number of turns is wrong."""

    @property
    def valid(self) -> bool:
        """Whether the rollout is right."""
        return not self.error_type


def check(row: MultiTurnRow, turns: Sequence[Steps], *, call_seconds: float = CALL_SECONDS) -> TurnVerdict:
    """Return the verdict on one rollout.

    Args:
        row: what was asked.
        turns: the model's calls, turn by turn and step by step.
        call_seconds: what a call, and a comparison of states, may take.

    Total: calls that can't be read, or made, have an observation that says so. Rollouts share nothing, whatever the
    order in which they are checked.
    """
    gold = gold_of(row)
    if len(turns) != len(gold.turns):
        return TurnVerdict(CUT_OFF)
    world = World(row.classes, gold.config, long_context=row.long_context, call_seconds=call_seconds)
    seen: Counter[str] = Counter()
    for number, (steps, right) in enumerate(zip(turns, gold.turns, strict=True)):
        called = [step for step in steps if any(step)]
        for step in called:
            seen.update(world.run(step))
        error = _error(called, world, seen, right, call_seconds) if right else ""
        if error:
            return TurnVerdict(error, number)
    return TurnVerdict()


def _error(called: Steps, world: World, seen: Counter[str], right: GoldTurn, seconds: float) -> str:
    if not called:
        return NO_CALLS
    if not _same(world.state(), right.state, seconds):
        return OTHER_STATE
    return "" if seen >= right.observations else NOT_LOOKED_UP


def _same(state: State, right: State, seconds: float) -> bool:
    """Compare states. A folder copied into itself has no end, and copies of copies take for ever: not the same."""
    try:
        return within(seconds, lambda: state == right)
    except (Overdue, RecursionError):
        return False
