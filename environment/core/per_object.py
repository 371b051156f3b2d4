"""`PerObject`: something derived from an object once, found again by the object's identity.

For schemas: plain mappings that can't be hashed, never change, and are asked for at every call.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")
MOST = 4096
"""Objects remembered; a program has a few hundred parameters, tests make more."""


class PerObject(Generic[K, V]):
    """Calls `derive` the first time an object is seen, and keeps the object alive: no other may take its identity."""

    def __init__(self, derive: Callable[[K], V]) -> None:
        self._derive = derive
        self._held: dict[int, tuple[K, V]] = {}

    def __call__(self, source: K) -> V:
        """Return what was derived from this very object."""
        held = self._held.get(id(source))
        if held is None:
            if len(self._held) >= MOST:
                self._held = {}
            held = self._held[id(source)] = (source, self._derive(source))
        return held[1]
