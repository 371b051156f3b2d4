"""The rule set `reference`: how ToolOrchestrationReward judges an entry, for comparison with numbers got that way.

Its quirks are kept here, on purpose and nowhere else (numbers of `specs`, section 9):

    W85  argument values are not compared: names present and an answer of equal `status` are enough, and the model is
         then shown the gold answer; answers without `status` must be equal as a whole
    W86  each call takes the first gold call that fits, so two like calls can block each other
    W88  an unreadable call ends the entry without any credit
    W90  free tools count as optional in two lists that differ, and the turn counter may run past the chain: a chain
         whose last turns hold only such look-ups can end as incomplete with all turns counted as done
         (a call left over counts for every turn that has an equal one, the earliest deciding)
    and  a call after everything was done ends the entry as `func_hallucination` with all turns counted as done

An entry goes on until a text answer, a turn without any match, or one of the above; there is no limit of turns.
Whether it succeeded is what its published metric says: as many turns done as the chain has.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from environment.core.calls import JsonValue, ParseStatus, ResultStatus
from environment.core.dispatch import World
from environment.core.trajectory import StopReason, Trajectory
from evaluation.suites.complexfuncbench.entries import Entry, GoldCall
from evaluation.suites.complexfuncbench.strict import FREE, LOCATION_SEARCHES

PROBLEM: dict[str, JsonValue] = {
    "api_status": True,
    "content": "Something is wrong with this call; check its name and arguments.",
}
"""What the model is shown of a call that matched nothing, in a turn where another one did."""
SUCCESS = "Success."


@dataclass
class ReferenceState:
    """One entry under the reference's rules: what is expected next, and how far it came."""

    entry: Entry
    world: World
    expected: list[GoldCall] = field(default_factory=list[GoldCall])
    turn: int = 0
    """Gold turn that was added last; may run past the chain."""
    correct: int = 0
    message: str | dict[str, Any] | list[dict[str, Any]] | None = None
    """How it ended; None while it goes on."""
    success_turns: int = 0
    _matched: list[GoldCall] = field(default_factory=list[GoldCall])
    _problems: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def __post_init__(self) -> None:
        self.expected = self.entry.turn(0)
        if _free_only(self.expected):
            self._advance()

    def take(self, name: str, arguments: Mapping[str, JsonValue]) -> GoldCall | None:
        """Match one call of the turn under way with the first gold call that fits."""
        free = [g for g in self.expected if not any(g is m for m in self._matched)]
        fitting = [g for g in free if g.name == name and set(g.arguments) <= set(arguments)]
        found = self._first_alike(fitting, name, arguments) if fitting else None
        if found is None:
            self._problems.append({"error_type": "no_match", "content": f"nothing expected fits a call of {name}"})
        else:
            self._matched.append(found)
        return found

    def end_turn(self, *, unreadable: bool) -> bool:
        """Close a turn that had calls; True where the entry ends with it."""
        matched, problems = self._matched, self._problems
        self._matched, self._problems = [], []
        if not self.expected:
            self._fail({"error_type": "func_hallucination", "content": "a call after everything was done"})
        elif unreadable:
            self.message, self.success_turns, self.correct = _exception("an unreadable call"), 0, 0
        elif not matched:
            self._fail(problems)
        else:
            self.correct += len(matched)
            self._remove(matched)
        return self.message is not None

    def answer(self, text: str) -> None:
        """Close the entry with a text answer; an empty one is none."""
        if not text:
            self._fail({"error_type": "unknown_error", "content": "neither text nor a call"})
            return
        optional = [g for g in self.expected if g.name in LOCATION_SEARCHES or _hotel_search(g)]
        self.expected = [g for g in self.expected if g not in optional]
        if self.turn < self.entry.turns or self.expected:
            self.give_up("the answer came before all expected calls")
        else:
            self.message, self.success_turns = SUCCESS, self.entry.turns

    def give_up(self, why: str) -> None:
        """End the entry before it was done."""
        self._fail({"error_type": "incomplete_execution", "content": why})

    def _first_alike(
        self, fitting: Sequence[GoldCall], name: str, arguments: Mapping[str, JsonValue]
    ) -> GoldCall | None:
        answer = self.world.call(name, arguments)
        if answer.status not in (ResultStatus.OK, ResultStatus.UPSTREAM_ERROR) or "error" in _object(answer.value):
            return None
        return next((g for g in fitting if _alike(answer.value, g.response)), None)

    def _fail(self, message: dict[str, Any] | list[dict[str, Any]]) -> None:
        left = [(g.name, g.arguments) for g in self.expected]
        turns = [g.turn for g in self.entry.calls if (g.name, g.arguments) in left]
        self.message, self.success_turns = message, min(turns, default=self.entry.turns)

    def _remove(self, matched: Sequence[GoldCall]) -> None:
        self.expected = [g for g in self.expected if not any(g is m for m in matched)]
        self._advance()
        if _free_only(self.expected):
            self._advance()

    def _advance(self) -> None:
        self.turn += 1
        self.expected += self.entry.turn(self.turn)


@dataclass(frozen=True)
class ReferenceVerdict:
    """What the reference's record says of one entry."""

    message: str | dict[str, Any] | list[dict[str, Any]]
    success_turns: int
    turns: int
    right_calls: int
    gold_calls: int
    real_turns: int
    """Turns of the model that held calls."""

    @property
    def success(self) -> bool:
        """As many turns done as the chain has; an entry without turns is none."""
        return 0 < self.turns == self.success_turns

    def count_dict(self) -> dict[str, int]:
        """Return the counts under the reference's names."""
        return {
            "success_turn_num": self.success_turns,
            "total_turn_num": self.turns,
            "correct_call_num": self.right_calls,
            "total_call_num": self.gold_calls,
            "real_turn_num": self.real_turns,
        }


def judge_reference(entry: Entry, world: World, trajectory: Trajectory) -> ReferenceVerdict:
    """Play a trajectory again under the reference's rules, up to where they end it."""
    state = ReferenceState(entry, world)
    real = 0
    for turn in sorted({call.turn for call in trajectory.calls}):
        calls = [call for call in trajectory.calls if call.turn == turn]
        real += bool(state.expected)
        for call in calls:
            if call.status == ParseStatus.OK:
                state.take(call.name, call.arguments)
        if state.end_turn(unreadable=any(c.status != ParseStatus.OK for c in calls)):
            break
    if state.message is None:
        _close(state, trajectory)
    assert state.message is not None
    crashed = isinstance(state.message, dict) and state.message["error_type"] in ("exception", "unknown_error")
    counts = (0, 0, 0) if crashed else (state.success_turns, state.correct, real)
    success, correct, real = counts
    return ReferenceVerdict(state.message, success, entry.turns, correct, len(entry.calls), real)


def _close(state: ReferenceState, trajectory: Trajectory) -> None:
    """End an entry that the trajectory's calls did not end."""
    last = trajectory.messages[-1] if trajectory.messages else {}
    text = str(last.get("content") or "") if last.get("role") == "assistant" else ""
    if trajectory.stop == StopReason.ANSWER or text:
        state.answer(trajectory.answer or text)
    else:
        state.give_up(f"the episode ended by its limit: {trajectory.stop}")


def _exception(what: str) -> dict[str, Any]:
    return {"error_type": "exception", "content": what}


def _free_only(calls: Sequence[GoldCall]) -> bool:
    return any(_hotel_search(g) for g in calls) or {g.name for g in calls} <= FREE


def _hotel_search(call: GoldCall) -> bool:
    return call.name == "Search_Hotels" and call.arguments.get("search_type") == "hotel"


def _alike(answer: JsonValue, gold: JsonValue) -> bool:
    mine, wanted = _object(answer).get("status"), _object(gold).get("status")
    if mine is not None and wanted is not None:
        return mine == wanted
    return answer == gold


def _object(value: JsonValue) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
