"""The closing answer: does it say what was found?

    told = found values named in the answer / found values named in the task's own answer     1 where there are none

A found value is a scalar of an answered result of this trajectory that stands, as written, in the task's own answer:
the longest such stretch of words at each place. So an answer may be worded freely, but not name another hotel. A task
without an answer of its own asks for an answer and nothing more.
"""
from __future__ import annotations

import re
from collections.abc import Callable

from environment.core.canonical import fold_text

LONGEST_VALUE = 8
"""Words of the longest value that is looked for."""
SHORTEST_VALUE = 2
"""Characters of the shortest: single letters and digits stand in any sentence."""

_WORD = re.compile(r"\S+")
_EDGE = ".,;:!?()[]\"'"


class Closing:
    """A task's own answer, made ready for comparison."""

    def __init__(self, answer: str) -> None:
        words = [found.span() for found in _WORD.finditer(answer)]
        self._stretches = [
            [
                (last, text)
                for last in range(min(first + LONGEST_VALUE, len(words)), first, -1)
                if len(text := answer[words[first][0] : words[last - 1][1]].strip(_EDGE)) >= SHORTEST_VALUE
            ]
            for first in range(len(words))
        ]
        """For each word the stretches that begin with it, the longest first: (word after it, text)."""

    def values(self, shown: Callable[[str], bool]) -> list[str]:
        """Return the found values this answer names; `shown` says whether a value was found."""
        named: list[str] = []
        here = 0
        while here < len(self._stretches):
            last, text = next(((last, t) for last, t in self._stretches[here] if shown(t)), (here + 1, ""))
            named += [text] if text else []
            here = last
        return named

    def told(self, answer: str, shown: Callable[[str], bool]) -> float:
        """Return the share of those values that another answer names, too."""
        if not answer or not self._stretches:
            return 1.0
        values = self.values(shown)
        if not values:
            return 1.0
        text = f" {_bare(answer)} "
        return sum(f" {_bare(value)} " in text for value in values) / len(values)


def _bare(text: str) -> str:
    """Return text as folded words without the signs around them."""
    return " ".join(bare for word in fold_text(text).split() if (bare := word.strip(_EDGE)))
