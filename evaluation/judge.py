"""Judge one trajectory: what share was right, and what kind of mistake came first."""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from BFCL.check.match import Match, StepMatch, match
from environment.core.calls import ParseStatus
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason, Trajectory

Schemas = Mapping[str, ToolSchema]
Reward = Callable[[Trajectory, Task, Schemas], Any]
"""Scores a trajectory: a number, or an object whose `score` is one. Injected, as rewards live in training."""


@dataclass(frozen=True)
class CallMark:
    """What one call was good for."""

    step: int | None
    """The gold step it was matched with, from 0; None for a call no step wanted."""
    right: bool
    note: str
    """What was wrong, in words; empty where nothing was."""


@dataclass(frozen=True)
class Verdict:
    """What is known of one trajectory that counts. Infrastructure failures have no verdict."""

    success: bool
    turn_accuracy: float
    call_accuracy: float
    reward: float | None
    """None where no reward function was given."""
    fault: str
    """The first kind of mistake found, `none` for a success; see `fault_of`."""
    calls: int
    readable: int
    turns: int
    marks: tuple[CallMark, ...] = ()
    """One a call, in order."""

    @property
    def figures(self) -> dict[str, float | None]:
        """Figures by the names a summary gives them."""
        accuracies = {"turn_accuracy": self.turn_accuracy, "call_accuracy": self.call_accuracy}
        return {**accuracies, "reward_mean": self.reward, "calls_mean": float(self.calls)}

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {**asdict(self), "marks": [asdict(m) for m in self.marks]}


def judge(trajectory: Trajectory, task: Task, schemas: Schemas, reward: Reward | None = None) -> Verdict | None:
    """Return the verdict over a trajectory, None when the infrastructure failed it."""
    return None if trajectory.stop == StopReason.INFRASTRUCTURE else verdict_of(trajectory, task, schemas, reward)


def verdict_of(trajectory: Trajectory, task: Task, schemas: Schemas, reward: Reward | None = None) -> Verdict:
    """Return the verdict over a trajectory that counts."""
    found = match(trajectory, task, schemas)
    return Verdict(
        success=found.success,
        turn_accuracy=found.turn_accuracy,
        call_accuracy=found.call_accuracy,
        reward=None if reward is None else _number(reward(trajectory, task, schemas)),
        fault=fault_of(found, trajectory, task),
        calls=found.calls,
        readable=found.readable,
        turns=sum(m.get("role") == "assistant" for m in trajectory.messages),
        marks=tuple(_marks(found, trajectory)),
    )


def fault_of(found: Match, trajectory: Trajectory, task: Task) -> str:
    """Name what went wrong, by the first of these that holds.

    none · no_call · malformed · missing_step · wrong_value · not_executed · order · surplus_call · no_answer
    """
    if found.success:
        return "none"
    if task.steps and not trajectory.calls:
        return "no_call"
    missing = any(s.call is None for s in found.steps)
    if missing and any(c.status != ParseStatus.OK for c in trajectory.calls):
        return "malformed"
    checks = (
        ("missing_step", missing),
        ("wrong_value", any(not s.exact for s in found.steps)),
        ("not_executed", any(not s.executed for s in found.steps)),
        ("order", any(not s.ordered for s in found.steps)),
        ("surplus_call", bool(found.surplus)),
    )
    return next((name for name, holds in checks if holds), "no_answer")


def _marks(found: Match, trajectory: Trajectory) -> Iterator[CallMark]:
    by_call = {s.call: s for s in found.steps if s.call is not None}
    status = {r.call_id: r.status for r in trajectory.results}
    for position, call in enumerate(trajectory.calls):
        step = by_call.get(position)
        if step is not None:
            note = _complaint(step)
            yield CallMark(step.step, not note, note)
        elif call.status != ParseStatus.OK:
            yield CallMark(None, False, f"unreadable: {call.status.replace('_', ' ')}")
        elif position in found.surplus:
            yield CallMark(None, False, "no step wanted it")
        else:
            yield CallMark(None, False, str(status.get(call.id, "not_executed")).replace("_", " "))


def _complaint(step: StepMatch) -> str:
    wrong = [c.name for c in step.arguments if c.value < 1]
    if wrong:
        return f"wrong {', '.join(wrong)}"
    if not step.executed:
        return "not carried out"
    return "" if step.ordered else "before what it depends on"


def _number(score: Any) -> float:
    return float(getattr(score, "score", score))
