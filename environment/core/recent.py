"""`Recent`: what was asked for last, bounded by weight; a hit costs one look into a dict.

Two generations: what is new or asked for again lies in the young one. Once that has half of the capacity it becomes the
old one, and what the old one still held is forgotten. So the last half of the capacity is always kept, and never more
than the whole. Every step is one operation on a dict, so threads may share a memory without a lock: the worst they
can do to each other is to make it forget.
"""
from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A memory of values by key. Whoever puts a value in must not change it afterwards."""

    def __init__(self, capacity: int) -> None:
        """Begin empty.

        Args:
            capacity: weight of all that is kept, in whatever unit `put` is told; 0 keeps nothing.
        """
        self.capacity = capacity
        self._young: dict[K, tuple[V, int]] = {}
        self._old: dict[K, tuple[V, int]] = {}
        self._weight = 0

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: K) -> V | None:
        """Return what is kept under a key, or None."""
        held = self._young.get(key)
        if held is None:
            held = self._old.pop(key, None)
            if held is None:
                return None
            self.put(key, *held)
        return held[0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Keep a value, unless it weighs more than a quarter of the capacity and would drive out too much."""
        if weight > self.capacity // 4:
            return
        if self._weight + weight > self.capacity // 2:
            self._old, self._young, self._weight = self._young, {}, 0
        self._young[key] = (value, weight)
        self._weight += weight

    def clear(self) -> None:
        """Forget everything."""
        self._young, self._old, self._weight = {}, {}, 0
