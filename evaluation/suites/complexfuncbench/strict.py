"""The rule set `strict`: a call is right when it is the gold call, or when the service answers it as the gold one.

    calls ──one to one──▶ gold calls      most right calls in total, equal arguments before equal answers, early first

Equal arguments means equal canonical form: defaults dropped, dates as dates, ids to the letter. Equal answers means the
same recorded answer but for its time stamp, and one that says something: two searches without a hit are not alike.
The order of calls is not judged, for the file doesn't say what feeds what; a value has to come from an earlier answer.

Success: every gold call is made, the episode ends with an answer, and no further call was carried out but location
look-ups, which the benchmark lets a model make freely. Failed attempts cost nothing but turns.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from BFCL.check.assignment import best_assignment
from BFCL.check.credit import argument_credits, mean_credit
from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall
from environment.core.canonical import json_key
from environment.core.dispatch import World
from environment.core.trajectory import StopReason, Trajectory
from evaluation.suites.complexfuncbench.entries import Entry, GoldCall

LOCATION_SEARCHES = frozenset({
    "Search_Hotel_Destination", "Search_Attraction_Location", "Search_Car_Location", "Search_Flight_Location",
    "Taxi_Search_Location",
})  # fmt: skip
"""Look-ups of places, which a model may make as it likes."""
_NEVER_RAN = (ResultStatus.NOT_EXECUTED, ResultStatus.UNKNOWN_TOOL)
FREE = LOCATION_SEARCHES | {"Location_to_Lat_Long"}
_EXACT, _SAME_ANSWER, _LATE = 1.01, 1.0, 1e-6
"""Weights of a pair: one more right call outweighs all preferences together, for chains of up to a hundred calls."""


@dataclass(frozen=True)
class StepMark:
    """What became of one gold call."""

    turn: int
    function: str
    call: int | None
    """The call that made it, or the most alike one left over where none did; None where nothing is alike."""
    how: str
    """`arguments` or `answer` where a call is right, `no` where none is."""
    wrong: tuple[str, ...] = ()
    """Names of arguments that differ, are missing or are too many."""


@dataclass(frozen=True)
class StrictVerdict:
    """The strict verdict over one trajectory."""

    success: bool
    success_turns: int
    """Gold turns done, counted from the first up to the first that lacks a call."""
    turns: int
    right_calls: int
    gold_calls: int
    made_calls: int
    surplus: tuple[int, ...]
    """Calls carried out that no gold call wanted, location look-ups apart."""
    steps: tuple[StepMark, ...]
    fault: str


def judge_strict(entry: Entry, world: World, trajectory: Trajectory) -> StrictVerdict:
    """Lay one trajectory beside its entry; total, for any trajectory.

    Calls are answered again by `world`, for an episode may have been played by rules that answer otherwise.
    """
    work = _Work(entry, world, trajectory)
    taken = work.assign()
    steps = tuple(work.steps(taken))
    right = sum(s.how != "no" for s in steps)
    surplus = tuple(work.surplus(set(taken.values())))
    missing = [s.turn for s in steps if s.how == "no"]
    answered = trajectory.stop == StopReason.ANSWER and bool(trajectory.answer.strip())
    return StrictVerdict(
        success=bool(steps) and not missing and answered and not surplus,
        success_turns=min(missing, default=entry.turns),
        turns=entry.turns,
        right_calls=right,
        gold_calls=len(steps),
        made_calls=len(trajectory.calls),
        surplus=surplus,
        steps=steps,
        fault=_fault(steps, trajectory, bool(surplus), answered),
    )


class _Work:
    """One comparison in progress."""

    def __init__(self, entry: Entry, world: World, trajectory: Trajectory) -> None:
        self.entry, self.calls = entry, trajectory.calls
        status = {r.call_id: r.status for r in trajectory.results}
        ran = [status.get(c.id) not in (None, *_NEVER_RAN) and c.status == ParseStatus.OK for c in self.calls]
        self.answers = [world.call(c.name, c.arguments) if r else None for c, r in zip(self.calls, ran, strict=True)]
        self.keys = [entry.key(c.name, c.arguments) if r else None for c, r in zip(self.calls, ran, strict=True)]
        self.gold_keys = {id(g): entry.key(g.name, g.arguments) for g in entry.calls}

    def assign(self) -> dict[int, int]:
        """Return gold call → the call that makes it, for those that one does."""
        if not self.calls:
            return {}
        weights = [[self._weight(gold, i) for i in range(len(self.calls))] for gold in self.entry.calls]
        found = best_assignment(weights)
        return {g: c for g, c in enumerate(found) if c is not None and weights[g][c] > 0}

    def steps(self, taken: Mapping[int, int]) -> Iterator[StepMark]:
        """Yield a mark for every gold call."""
        left = [i for i in range(len(self.calls)) if i not in taken.values()]
        for number, gold in enumerate(self.entry.calls):
            call = taken.get(number)
            if call is not None:
                how = "arguments" if self._exact(gold, call) else "answer"
                yield StepMark(gold.turn, gold.name, call, how)
            else:
                yield self._missed(gold, left)

    def surplus(self, taken: set[int]) -> Iterator[int]:
        """Yield the calls that were carried out in vain."""
        for number, (call, answer) in enumerate(zip(self.calls, self.answers, strict=True)):
            done = answer is not None and answer.status == ResultStatus.OK
            if number not in taken and done and call.name not in FREE:
                yield number

    def _weight(self, gold: GoldCall, number: int) -> float:
        late = _LATE * min(number, 1000)
        if self._exact(gold, number):
            return _EXACT - late
        return _SAME_ANSWER - late if self._same_answer(gold, number) else 0.0

    def _exact(self, gold: GoldCall, number: int) -> bool:
        return self.keys[number] == self.gold_keys[id(gold)]

    def _same_answer(self, gold: GoldCall, number: int) -> bool:
        answer = self.answers[number]
        if self.calls[number].name != gold.name or answer is None or answer.status != ResultStatus.OK:
            return False
        return equal_answers(answer.value, gold.response)

    def _missed(self, gold: GoldCall, left: Sequence[int]) -> StepMark:
        """Return a mark that names what is wrong with the most alike of the calls left over."""
        alike = [i for i in left if self.calls[i].name == gold.name and self.keys[i] is not None]
        wanted = self.entry.canonical(gold.name, gold.arguments)
        best, names, most = None, (), -1.0
        for number in alike:
            credits = argument_credits(wanted, self.entry.canonical(gold.name, self.calls[number].arguments))
            if mean_credit(credits) > most:
                best, most = number, mean_credit(credits)
                names = tuple(c.name for c in credits if c.value < 1)
        return StepMark(gold.turn, gold.name, best, "no", names)


def equal_answers(one: JsonValue, other: JsonValue) -> bool:
    """Tell whether two answers of a service are the same but for their time stamp, and say something."""
    return says_something(other) and json_key(_timeless(one)) == json_key(_timeless(other))


def says_something(answer: JsonValue) -> bool:
    """Tell whether an answer holds any value besides its wrapper: status, message, time stamp."""
    if isinstance(answer, dict):
        inner = {k: v for k, v in answer.items() if k not in ("status", "message", "timestamp")}
        return any(says_something(v) for v in inner.values())
    if isinstance(answer, list):
        return any(says_something(v) for v in answer)
    return answer is not None and answer != ""


def _timeless(answer: JsonValue) -> JsonValue:
    return {k: v for k, v in answer.items() if k != "timestamp"} if isinstance(answer, dict) else answer


def _fault(steps: Sequence[StepMark], trajectory: Trajectory, surplus: bool, answered: bool) -> str:
    """Name what went wrong, in the words of `evaluation.judge.fault_of`."""
    missing = [s for s in steps if s.how == "no"]
    unreadable = any(c.status != ParseStatus.OK for c in trajectory.calls)
    checks: tuple[tuple[str, Any], ...] = (
        ("no_call", not trajectory.calls),
        ("malformed", missing and unreadable),
        ("missing_step", any(s.call is None for s in missing)),
        ("wrong_value", missing),
        ("surplus_call", surplus),
        ("no_answer", not answered),
    )
    return next((name for name, holds in checks if holds), "none")


def call_marks(verdict: StrictVerdict, calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Return one mark a call: the gold call it stands for, whether it is right, and what is wrong in words."""
    by_call = {s.call: (number, s) for number, s in enumerate(verdict.steps) if s.call is not None}
    return [_call_mark(number, call, by_call.get(number), verdict) for number, call in enumerate(calls)]


def _call_mark(
    number: int, call: ToolCall, found: tuple[int, StepMark] | None, verdict: StrictVerdict
) -> dict[str, Any]:
    if found is not None:
        step, mark = found
        right = mark.how != "no"
        return {"step": step, "right": right, "note": "" if right else f"wrong {', '.join(mark.wrong)}"}
    if call.status != ParseStatus.OK:
        note = f"unreadable: {call.status.replace('_', ' ')}"
    else:
        note = "no step wanted it" if number in verdict.surplus else "did no harm"
    return {"step": None, "right": False, "note": note}
