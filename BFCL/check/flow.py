"""Data flow: was the value a call consumes seen in this trajectory before the call was written?

The ledger of a trajectory lists every scalar the model saw in a result. A value counts as observed by a call when it
stands in the result of a call of an earlier assistant turn that was answered with status ok. Text the model wrote
itself, error messages and answers that came after the call never count.
"""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from environment.core.calls import JsonValue, ResultStatus
from environment.core.canonical import fold_text
from environment.core.trajectory import Trajectory

_NUMBER = re.compile(r"-?\d{1,30}(\.\d{1,30})?", re.ASCII)
_PATH_PART = re.compile(r"[^.\[\]]+")
_NEVER = 1 << 60


def scalar_key(value: JsonValue) -> str:
    """Return a text that is equal for equal scalars, whether written as number or as text (`39.85` and `"39.850"`)."""
    if isinstance(value, str):
        text = value.strip()
        return _number_key(text) if _NUMBER.fullmatch(text) else fold_text(text)
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
        self._as_written: dict[str, int] | None = None
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
        if self._as_written is None:
            self._as_written = self._first_turns(str)
        return text in self._as_written

    def _shown(self, scalar: JsonValue, turn: int) -> bool:
        if self._as_written is None:
            self._as_written = self._first_turns(str)
        if self._as_written.get(str(scalar), _NEVER) < turn:
            return True
        if self._by_key is None:
            self._by_key = self._first_turns(scalar_key)
        return self._by_key.get(scalar_key(scalar), _NEVER) < turn

    def _first_turns(self, key_of: Callable[[JsonValue], str]) -> dict[str, int]:
        answered = {r.call_id for r in self._trajectory.results if r.status == ResultStatus.OK}
        turns = {c.id: c.turn for c in self._trajectory.calls if c.id in answered}
        first: dict[str, int] = {}
        for seen in self._trajectory.ledger:
            turn = turns.get(seen.call_id)
            if turn is not None and not isinstance(seen.value, dict | list):
                key = key_of(seen.value)
                if turn < first.get(key, _NEVER):
                    first[key] = turn
        return first
