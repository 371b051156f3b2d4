"""Which tokens of an assistant turn the entropy term reads, found in the text of its tokens.

    cot                  strictly between an opening think marker and the closing one after it; markers, and tokens that
                         share letters with one, stand outside
    assistant            every token of the turn
    assistant_non_tool   every token outside `<tool_call>` blocks, tags included in these

A marker need not be one token: the texts of the tokens are laid end to end and searched. Degenerate cases: a chain of
thought that is not closed in its turn gives nothing; of two openings before a closing the later one counts; a turn
whose prompt already opened the marker (templates of always-thinking models do) begins inside; a call block that is not
closed reaches to the end of its turn.
"""
from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from training.advantages.settings import EgpoSettings

Interval = tuple[int, int]
"""Tokens [start, end) of a turn."""
CALL = ("<tool_call>", "</tool_call>")


def tokens_in_scope(pieces: Sequence[str], settings: EgpoSettings, opened: bool = False) -> list[Interval]:
    """Return the tokens of one turn that count, in order and disjoint; empty intervals are left out.

    Args:
        pieces: text of each token.
        opened: the prompt of the turn ends with the opening think marker.
    """
    if settings.scope == "assistant":
        return [(0, len(pieces))] if pieces else []
    starts = [0, *accumulate(len(piece) for piece in pieces)]
    text = "".join(pieces)
    if settings.scope == "cot":
        found = [_within(starts, a, b) for a, b in _between(text, *settings.think, opened)]
    else:
        found = list(_outside(starts, [_touching(starts, a, b) for a, b in _blocks(text, *CALL)]))
    return [(start, end) for start, end in found if start < end]


def _between(text: str, opening: str, closing: str, opened: bool) -> Iterator[Interval]:
    """Yield the letters between markers, those of the markers themselves left out."""
    here = 0
    while (end := text.find(closing, here)) >= 0:
        start = text.rfind(opening, here, end)
        if start >= 0 or (opened and here == 0):
            yield (start + len(opening) if start >= 0 else 0), end
        here = end + len(closing)


def _blocks(text: str, opening: str, closing: str) -> Iterator[Interval]:
    """Yield the letters from an opening tag to the end of its closing one, or of the text."""
    end = 0
    while (start := text.find(opening, end)) >= 0:
        close = text.find(closing, start)
        end = close + len(closing) if close >= 0 else len(text)
        yield start, end


def _within(starts: Sequence[int], first: int, last: int) -> Interval:
    """Return the tokens that lie wholly in letters [first, last)."""
    return bisect_left(starts, first), bisect_right(starts, last) - 1


def _touching(starts: Sequence[int], first: int, last: int) -> Interval:
    """Return the tokens with a letter in [first, last)."""
    return bisect_right(starts, first) - 1, bisect_left(starts, last)


def _outside(starts: Sequence[int], blocks: Sequence[Interval]) -> Iterator[Interval]:
    here = 0
    for start, end in blocks:
        yield here, start
        here = end
    yield here, len(starts) - 1
