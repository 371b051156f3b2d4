"""`RememberedCut`: an `ObservationCut` for a server, where many sessions see the same values."""
from __future__ import annotations

from collections.abc import Collection

import orjson

from environment.core.calls import JsonValue
from environment.core.recent import Recent
from environment.session.json_text import compact
from environment.session.observation import Observation, ObservationCut

REMEMBERED = 24 << 20
"""Bytes that what is remembered takes, about."""
SEEN_WEIGHT = 12
"""Bytes that a seen value takes in memory for each character of its text."""


class RememberedCut:
    """Cuts as the cut it is made of, and has at hand what it cut last.

    What it returns depends on the JSON text of a value alone, so it does not matter who asked first.
    """

    def __init__(self, cut: ObservationCut, capacity: int = REMEMBERED) -> None:
        """Begin with an empty memory.

        Args:
            capacity: bytes of the values' texts and of what was seen of them.
        """
        self._cut = cut
        self._recent = Recent[tuple[str, Collection[str]], Observation](capacity)

    def __call__(self, value: JsonValue, keep: Collection[str] = ()) -> Observation:
        """Return the observation of a value; the same object for the same value."""
        key = (compact(value), frozenset(keep))
        found = self._recent.get(key)
        if found is None:
            found = self._cut(orjson.loads(key[0]), keep)
            self._recent.put(key, found, len(key[0]) + SEEN_WEIGHT * len(found.text))
        return found
