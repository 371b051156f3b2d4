"""A call laid beside the gold call it stands for, argument by argument: as written, judged in canonical form."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from BFCL.check.credit import argument_credits, mean_credit
from environment.core.calls import JsonValue, ToolCall
from environment.core.canonical import canonical_arguments
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep


class State(StrEnum):
    """How one argument stands to the wanted one."""

    SAME = "same"
    EQUAL = "same meaning"
    """Written otherwise, but equal in canonical form."""
    DEFAULT = "says the default"
    """On one side only, and no more than the schema's default or a blank."""
    DIFFERS = "differs"
    LEFT_OUT = "left out"
    MADE_UP = "not wanted"

    @property
    def right(self) -> bool:
        """Whether the argument costs nothing."""
        return self in (State.SAME, State.EQUAL, State.DEFAULT)


@dataclass(frozen=True)
class ArgumentDiff:
    """One argument of either side."""

    name: str
    state: State
    wanted: JsonValue = None
    given: JsonValue = None
    has_wanted: bool = False
    has_given: bool = False


def differences(step: GoldStep, call: ToolCall, schema: ToolSchema | None) -> tuple[ArgumentDiff, ...]:
    """Return one entry for each argument of either side, the wanted ones first.

    Of several argument sets that are right, the one most like the call is laid beside it.
    """
    known = schema or ToolSchema(step.function, "", {})
    given = canonical_arguments(known, call.arguments)
    sets = [(written, canonical_arguments(known, written)) for written in (step.arguments, *step.accepted)]
    written, wanted = max(sets, key=lambda pair: mean_credit(argument_credits(pair[1], given)))
    credits = {credit.name: credit.value for credit in argument_credits(wanted, given)}
    return tuple(
        ArgumentDiff(
            name, _state(name, written, call.arguments, wanted, credits),
            written.get(name), call.arguments.get(name), name in written, name in call.arguments,
        )
        for name in dict.fromkeys((*written, *call.arguments))
    )  # fmt: skip


def _state(
    name: str,
    written: Mapping[str, JsonValue],
    given: Mapping[str, JsonValue],
    wanted: Mapping[str, JsonValue],
    credits: Mapping[str, float],
) -> State:
    credit = credits.get(name)
    if name in written and name in given and (credit is None or credit == 1):
        alike = type(written[name]) is type(given[name]) and written[name] == given[name]
        return State.SAME if alike else State.EQUAL
    if credit is None:
        return State.DEFAULT
    if name not in given:
        return State.LEFT_OUT
    return State.DIFFERS if name in wanted else State.MADE_UP
