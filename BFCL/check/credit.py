"""Credit of one call against one gold step, argument by argument, in canonical form.

Both sides come through `canonical_arguments`, so documented defaults are dropped, numbers are numbers and dates are
dates before anything is compared. An argument the gold call has and the call lacks, and one the call has and the gold
call lacks, both stand in the list with value 0: leaving out and making up cost alike. Objects and lists earn the share
of their parts that is right. No text is compared by likeness: an id is right or wrong.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from environment.core.calls import JsonValue

DEEPEST = 24
"""Values nested deeper than this are never equal to anything; no tool takes such a value."""


@dataclass(frozen=True, slots=True)
class ArgumentCredit:
    """What one argument earned."""

    name: str
    value: float
    """Share of the value that is right, 0 to 1."""
    typed: bool
    """Present on both sides, with the same JSON type."""
    derived: bool
    """The gold value came out of an earlier result (an edge ends here)."""


def argument_credits(
    gold: Mapping[str, JsonValue], given: Mapping[str, JsonValue], derived: frozenset[str] = frozenset()
) -> tuple[ArgumentCredit, ...]:
    """Return one credit for each name of either side, the gold names first."""
    credits = [_credit(name, value, given, name in derived) for name, value in gold.items()]
    credits += [ArgumentCredit(name, 0.0, False, False) for name in given if name not in gold]
    return tuple(credits)


def mean_credit(credits: Sequence[ArgumentCredit]) -> float:
    """Return the mean credit of a call's arguments; 1 for a call that has and wants none."""
    return sum(c.value for c in credits) / len(credits) if credits else 1.0


def share(gold: JsonValue, given: JsonValue, depth: int = 0) -> float:
    """Return how much of `gold` the value `given` has right: 1 exactly when they are equal."""
    if type(gold) is type(given) and isinstance(gold, str | int):
        return float(gold == given)
    if depth > DEEPEST or json_type(gold) != json_type(given):
        return 0.0
    if isinstance(gold, dict):
        return _share_of_objects(cast("dict[str, JsonValue]", gold), given, depth)
    if isinstance(gold, list):
        return _share_of_lists(cast("list[JsonValue]", gold), given, depth)
    return float(gold == given)


def json_type(value: JsonValue) -> str:
    """Return the JSON type of a value; whole and broken numbers are one type, true and false are none of them."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


def _credit(name: str, gold: JsonValue, given: Mapping[str, JsonValue], derived: bool) -> ArgumentCredit:
    if name not in given:
        return ArgumentCredit(name, 0.0, False, derived)
    value = given[name]
    right = share(gold, value)
    return ArgumentCredit(name, right, right > 0.0 or json_type(gold) == json_type(value), derived)


def _share_of_objects(gold: dict[str, JsonValue], given: dict[str, JsonValue], depth: int) -> float:
    names = gold.keys() | given.keys()
    if not names:
        return 1.0
    return sum(share(gold[n], given[n], depth + 1) for n in gold.keys() & given.keys()) / len(names)


def _share_of_lists(gold: list[JsonValue], given: list[JsonValue], depth: int) -> float:
    longest = max(len(gold), len(given))
    if not longest:
        return 1.0
    return sum(share(a, b, depth + 1) for a, b in zip(gold, given, strict=False)) / longest
