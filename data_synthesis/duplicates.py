"""Near-duplicate texts, found exactly and fast.

Two texts are near-duplicates when the Jaccard similarity of their sets of word triples reaches the threshold t.
Sets this similar share an element among the first |A| - ceil(t |A|) + 1 of each in any fixed order (prefix filter),
so only texts that meet there are compared: exact, and nearly linear. The order is by hash.
"""
from __future__ import annotations

import math
import re
import zlib
from typing import TypeVar

_WORD = re.compile(r"\w+")
Element = TypeVar("Element", int, str)


def shingles(text: str, size: int = 3) -> frozenset[int]:
    """Return hashes of the runs of `size` words; of all words where the text is shorter."""
    words = _WORD.findall(text.casefold())
    runs = [" ".join(words[i : i + size]) for i in range(max(len(words) - size + 1, 1))]
    return frozenset(zlib.crc32(run.encode()) for run in runs)


def jaccard(a: frozenset[Element], b: frozenset[Element]) -> float:
    """Return |A and B| / |A or B|; 1 for two empty sets."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if a or b else 1.0


class NearDuplicates:
    """Texts seen so far; `add` refuses one that is too much like another."""

    def __init__(self, threshold: float = 0.85) -> None:
        self._threshold = threshold
        self._sets: list[frozenset[int]] = []
        self._by_element: dict[int, list[int]] = {}

    def __len__(self) -> int:
        return len(self._sets)

    def like(self, text: str) -> int | None:
        """Return the number, in the order they were added, of a text that this one is too much like."""
        return self._find(shingles(text))

    def add(self, text: str) -> bool:
        """Remember a text and return True, or return False where a near-duplicate is known already."""
        new = shingles(text)
        if self._find(new) is not None:
            return False
        for element in self._prefix(new):
            self._by_element.setdefault(element, []).append(len(self._sets))
        self._sets.append(new)
        return True

    def _prefix(self, new: frozenset[int]) -> list[int]:
        return sorted(new)[: len(new) - math.ceil(self._threshold * len(new)) + 1]

    def _find(self, new: frozenset[int]) -> int | None:
        met = {number for element in self._prefix(new) for number in self._by_element.get(element, ())}
        least = self._threshold * len(new) - 1e-9  # sets of too unlike sizes can't be this similar
        most = len(new) / self._threshold + 1e-9 if self._threshold > 0 else math.inf
        sized = (n for n in sorted(met) if least <= len(self._sets[n]) <= most)
        return next((n for n in sized if jaccard(new, self._sets[n]) >= self._threshold), None)
