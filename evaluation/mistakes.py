"""Every mistake of an episode by kind: what the taxonomy of the report counts and the viewer points at.

    wrong_tool      a readable call of a tool that the chain does not have
    wrong_value     an argument of a matched call differs, is left out or is made up; says which and how
    missing_step    a gold step that no call fits
    extra_call      a call of a tool of the chain that no step wanted and that was answered
    refused_call    the same, but refused, missed or answered with an error; does not spoil success
    not_executed    the right tool, but beyond a limit of the episode
    order           a step called before what it depends on
    malformed       a call that could not be read
    gave_up         answered although steps were missing
    cut_off         a limit of turns, calls, tokens or time ended the episode
    infrastructure  the episode failed for no fault of the model; then it is the only mistake

An episode may have several. `judge.fault_of` names the first one alone; this lists them all.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from BFCL.check.match import GoldChain, Match, StepMatch, chain_of
from environment.core.calls import ParseStatus
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason, Trajectory


class Kind(StrEnum):
    """Kind of a mistake; the module says what each means."""

    WRONG_TOOL = "wrong_tool"
    WRONG_VALUE = "wrong_value"
    MISSING_STEP = "missing_step"
    EXTRA_CALL = "extra_call"
    REFUSED_CALL = "refused_call"
    NOT_EXECUTED = "not_executed"
    ORDER = "order"
    MALFORMED = "malformed"
    GAVE_UP = "gave_up"
    CUT_OFF = "cut_off"
    INFRASTRUCTURE = "infrastructure"


@dataclass(frozen=True)
class Mistake:
    """One thing that went wrong."""

    kind: Kind
    step: int | None = None
    """The gold step it is about."""
    call: int | None = None
    """Position in `trajectory.calls`."""
    tool: str = ""
    argument: str = ""
    """Name of the argument of a wrong value."""
    how: str = ""
    """`differs`, `left out` or `made up`, for a wrong value."""


def mistakes(trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema]) -> tuple[Mistake, ...]:
    """Return all mistakes of a trajectory: calls in order, then steps, then how it ended."""
    if trajectory.stop == StopReason.INFRASTRUCTURE:
        return (Mistake(Kind.INFRASTRUCTURE),)
    chain = chain_of(task, schemas)
    found = chain.match(trajectory)
    return (*_of_calls(trajectory, found, chain), *_of_steps(trajectory, found, chain), *_of_end(trajectory, found))


def how_wrong(name: str, gold: Mapping[str, object], given: Mapping[str, object]) -> str:
    """Say how an argument that earned less than full credit is wrong, both sides in canonical form."""
    if name not in given:
        return "left out"
    return "differs" if name in gold else "made up"


def _of_calls(trajectory: Trajectory, found: Match, chain: GoldChain) -> Iterator[Mistake]:
    """Yield what is wrong with calls that no step wanted."""
    for position in sorted({*found.surplus, *found.failed}):
        call = trajectory.calls[position]
        if call.status != ParseStatus.OK:
            yield Mistake(Kind.MALFORMED, call=position, tool=call.name)
        elif not chain.steps_of(call.name):
            yield Mistake(Kind.WRONG_TOOL, call=position, tool=call.name)
        else:
            kind = Kind.EXTRA_CALL if position in found.surplus else Kind.REFUSED_CALL
            yield Mistake(kind, call=position, tool=call.name)


def _of_steps(trajectory: Trajectory, found: Match, chain: GoldChain) -> Iterator[Mistake]:
    for step in found.steps:
        tool = chain.task.steps[step.step].function
        if step.call is None:
            yield Mistake(Kind.MISSING_STEP, step.step, tool=tool)
            continue
        yield from _of_arguments(trajectory, step, chain)
        if not step.executed:
            yield Mistake(Kind.NOT_EXECUTED, step.step, step.call, tool)
        if not step.ordered:
            yield Mistake(Kind.ORDER, step.step, step.call, tool)


def _of_arguments(trajectory: Trajectory, step: StepMatch, chain: GoldChain) -> Iterator[Mistake]:
    wrong = [credit.name for credit in step.arguments if credit.value < 1]
    if not wrong or step.call is None:
        return
    call, gold = trajectory.calls[step.call], chain.steps[step.step].arguments
    given = chain.canonical(call)
    for name in wrong:
        yield Mistake(Kind.WRONG_VALUE, step.step, step.call, call.name, name, how_wrong(name, gold, given))


def _of_end(trajectory: Trajectory, found: Match) -> Iterator[Mistake]:
    if trajectory.stop != StopReason.ANSWER:
        yield Mistake(Kind.CUT_OFF)
    elif any(step.call is None for step in found.steps):
        yield Mistake(Kind.GAVE_UP)
