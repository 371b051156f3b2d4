"""Data flow: was the value a call consumes seen in this trajectory before the call was written?

The ledger of a trajectory lists every scalar the model saw in a result. A value counts as observed by a call when it
stands in the result of a call of an earlier assistant turn that was answered with status ok. Text the model wrote
itself, error messages and answers that came after the call never count.
"""
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from environment.core.calls import JsonValue, ResultStatus
from environment.core.canonical import fold_text
from environment.core.trajectory import Trajectory

_NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?", re.ASCII)
_PATH_PART = re.compile(r"[^.\[\]]+")
_NUMBER_STARTS = frozenset("-0123456789")
_NEVER = 1 << 60
_EQUAL_KEYS = frozenset({"0", "1", "true", "false"})
"""Keys of values that Python holds for equal though JSON doesn't."""


def scalar_key(value: JsonValue) -> str:
    """Return a text that is equal for equal scalars, whether written as number or as text (`39.85` and `"39.850"`)."""
    if isinstance(value, str):
        text = value.strip()
        if text[:1] in _NUMBER_STARTS and _NUMBER.fullmatch(text):
            return _number_key(text)
        return " ".join(text.lower().split()) if text.isascii() else fold_text(text)
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return _number_key(repr(value)) if _NUMBER.fullmatch(repr(value)) else repr(value)


def _number_key(text: str) -> str:
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    return f"{int(whole)}.{fraction}" if fraction else str(int(whole))


def scalars(value: JsonValue) -> Iterator[JsonValue]:
    """Yield the scalars inside a value, in order; walks without recursion."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(reversed(cast("dict[str, JsonValue]", item).values()))
        elif isinstance(item, list):
            stack.extend(reversed(cast("list[JsonValue]", item)))
        else:
            yield item


def value_at(arguments: Mapping[str, JsonValue], path: str) -> JsonValue | None:
    """Return the value at a path such as `legs[0].fromId`; None where there is none."""
    here: JsonValue = arguments
    for part in _PATH_PART.findall(path):
        if isinstance(here, Mapping):
            here = cast("Mapping[str, JsonValue]", here).get(part)
        elif isinstance(here, list) and part.isdecimal():
            items = cast("list[JsonValue]", here)
            here = items[int(part)] if int(part) < len(items) else None
        else:
            return None
    return here


class Observations:
    """Earliest assistant turn whose results showed a value; built from a trajectory on first use.

    Values are looked up as written, and by `scalar_key` only where that fails: nearly all are copied as shown.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._as_shown: dict[JsonValue, int] | None = None
        """By the value itself; 0 and 1 are not looked up here, for they equal false and true."""
        self._by_key: dict[str, int] | None = None

    def before(self, value: JsonValue, turn: int) -> bool:
        """Say whether every scalar of `value` was seen in a result of a turn before `turn`; False for no value."""
        if value is None:
            return False
        if isinstance(value, dict | list):
            parts = [*scalars(value)]
            return bool(parts) and all(self._shown(part, turn) for part in parts)
        return self._shown(value, turn)

    def shows(self, text: str) -> bool:
        """Say whether a value written just so stood in any answered result."""
        return self._first_turn(text) < _NEVER

    def _shown(self, scalar: JsonValue, turn: int) -> bool:
        if self._first_turn(scalar) < turn:
            return True
        key = scalar_key(scalar)
        if key in _EQUAL_KEYS:
            return any(t < turn and scalar_key(value) == key for value, t in self._shown_values())
        if self._by_key is None:
            self._by_key = _earliest((scalar_key(v), t) for v, t in self._as_shown_at().items())
        return self._by_key.get(key, _NEVER) < turn

    def _first_turn(self, scalar: JsonValue) -> int:
        """Return the first turn that showed a value as it is, or as the same text or number."""
        shown = self._as_shown_at()
        if isinstance(scalar, str):
            other = _number_of(scalar)
        else:
            other = str(scalar)
            if scalar in (0, 1):
                return shown.get(other, _NEVER)
        found = shown.get(scalar, _NEVER)
        return found if other is None else min(found, shown.get(other, _NEVER))

    def _as_shown_at(self) -> dict[JsonValue, int]:
        if self._as_shown is None:
            try:
                self._as_shown = self._index()
            except TypeError:  # a container in the ledger, which no session writes
                shown = ((v, t) for v, t in self._shown_values() if not isinstance(v, dict | list))
                self._as_shown = _earliest(shown)
        return self._as_shown

    def _index(self) -> dict[JsonValue, int]:
        """Return `_earliest` of the shown values, written out: replies can hold thousands."""
        first: dict[JsonValue, int] = {}
        known, turn_of = first.get, self._turns().get
        for seen in self._trajectory.ledger:
            turn = turn_of(seen.call_id, _NEVER)
            if turn < known(seen.value, _NEVER):
                first[seen.value] = turn
        return first

    def _turns(self) -> dict[str, int]:
        """Return the turn of each answered call."""
        answered = {r.call_id for r in self._trajectory.results if r.status == ResultStatus.OK}
        return {c.id: c.turn for c in self._trajectory.calls if c.id in answered}

    def _shown_values(self) -> Iterator[tuple[JsonValue, int]]:
        """Yield each value of an answered result with its turn."""
        turns = self._turns()
        return ((o.value, turns[o.call_id]) for o in self._trajectory.ledger if o.call_id in turns)


def _earliest(shown: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    """Return the first turn of each value."""
    first: dict[Any, int] = {}
    known = first.get
    for value, turn in shown:
        if turn < known(value, _NEVER):
            first[value] = turn
    return first


def _number_of(text: str) -> int | float | None:
    """Return the number that is written just as the text, but for 0 and 1; None for any other text."""
    if text[:1] not in _NUMBER_STARTS or not _NUMBER.fullmatch(text):
        return None
    number = float(text) if "." in text else int(text)
    return number if str(number) == text and number not in (0, 1) else None
