"""Seeded facts: the same seed and words always give the same number, in any order and any process."""
from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import gcd
from typing import TypeVar

T = TypeVar("T")
_ALPHABET = "0123456789bcdfghjkmnpqrstvwxyz"


def draw(*words: object) -> int:
    """Return a number below 2**32 that depends on nothing but the words."""
    return int.from_bytes(blake2b("/".join(map(str, words)).encode(), digest_size=4).digest(), "big")


def between(low: int, high: int, *words: object) -> int:
    """Return a number from low to high, both included."""
    return low + draw(*words) % (high - low + 1)


def pick(options: Sequence[T], *words: object) -> T:
    """Return one of the options."""
    return options[draw(*words) % len(options)]


class Scatter:
    """A one-to-one scattering of 0 … span - 1 onto itself, so that ids give away no order.

    code(n) = (a n + b) mod span with a coprime to span; `index` inverts it.
    """

    def __init__(self, seed: int, kind: str, span: int) -> None:
        self.span = span
        self._factor = draw(seed, kind, "factor") % span
        while gcd(self._factor, span) != 1:
            self._factor += 1
        self._shift = draw(seed, kind, "shift") % span
        self._inverse = pow(self._factor, -1, span)

    def code(self, index: int) -> int:
        """Return the number that stands for `index`."""
        return (self._factor * index + self._shift) % self.span

    def index(self, code: int) -> int:
        """Return what a number stands for."""
        return self._inverse * (code - self._shift) % self.span


class Ids:
    """Decimal ids such as `48213` for `count` things, within [low, high]."""

    def __init__(self, seed: int, kind: str, count: int, low: int, high: int) -> None:
        scatter = Scatter(seed, kind, high - low + 1)
        self._texts = [str(low + scatter.code(i)) for i in range(count)]
        self._indices = {text: i for i, text in enumerate(self._texts)}

    def text(self, index: int) -> str:
        """Return the id of thing `index`."""
        return self._texts[index]

    def index(self, text: str) -> int | None:
        """Return the thing of an id, None for an id nobody has."""
        return self._indices.get(text)


class Tokens:
    """Ids such as `f3k9pd` for any of `count` things: a prefix and as few scattered letters and digits as hold them."""

    def __init__(self, seed: int, kind: str, count: int, prefix: str) -> None:
        self._count, self._prefix = count, prefix
        self._length = next(n for n in range(2, 30) if len(_ALPHABET) ** n >= count)
        self._scatter = Scatter(seed, kind, len(_ALPHABET) ** self._length)

    def text(self, index: int) -> str:
        """Return the token of thing `index`."""
        number, letters = self._scatter.code(index), ""
        for _ in range(self._length):
            number, digit = divmod(number, len(_ALPHABET))
            letters = _ALPHABET[digit] + letters
        return self._prefix + letters

    def index(self, text: str) -> int | None:
        """Return the thing of a token, None for text that is no token of this world."""
        letters = text[len(self._prefix) :]
        if not text.startswith(self._prefix) or len(letters) != self._length or not set(letters) <= set(_ALPHABET):
            return None
        number = 0
        for letter in letters:
            number = number * len(_ALPHABET) + _ALPHABET.index(letter)
        index = self._scatter.index(number)
        return index if index < self._count else None
