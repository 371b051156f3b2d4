"""Whether a query supports the values of its calls, by rules that read text alone.

A value is supported where the query states it in some form: numbers in digits or words, with thousands marks, as
percent or with `k`, `million`; dates and times in words; texts by their words or initials. Choices, truth values and
defaults need no words. The rules are strict: what takes knowledge (`Paris` → `FR`) counts as unsupported.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from data_synthesis.single_turn.model import Item
from data_synthesis.words import MONTHS, NUMBERS, dates_in, times_in
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text

_NUMBER = re.compile(
    r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|(?<![\w.])\.\d+"
)
_SCALED = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)\s*(%|percent|k\b|thousand|m\b|million|bn?\b|billion|hundred|dozen)", re.IGNORECASE
)
_SCALES = {
    "%": 0.01, "percent": 0.01, "k": 1e3, "thousand": 1e3, "m": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9,
    "billion": 1e9, "hundred": 100.0, "dozen": 12.0,
}  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_TEENS = ("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")
_UNITS = {**{word: n for n, word in enumerate(NUMBERS)}, **{word: n + 13 for n, word in enumerate(_TEENS)}}
_SAID = {
    **_UNITS, **{word: 10 * n + 20 for n, word in enumerate(_TENS)},
    "a": 1, "an": 1, "single": 1, "once": 1, "both": 2, "twice": 2, "pair": 2, "couple": 2, "half": 0.5, "hundred": 100,
    "thousand": 1000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12, "first": 1, "second": 2, "third": 3,
}  # fmt: skip
_WORD = re.compile(r"\w+")
_SPLIT = re.compile(r"[^0-9a-zà-öø-ÿ]+|(?<=[a-z])(?=\d)|(?<=\d)(?=[a-z])")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_JOINED = re.compile(r"(?<![\w.,])(\d+)(?=[A-Za-z])")
_SMALL = frozenset({"of", "the", "and", "for", "in", "de", "la"})
_ENDINGS = ("ings", "ing", "ers", "er", "ed", "es", "s", "e")
_ISO = re.compile(r"\d{4}-\d\d-\d\d")
_SHORT = 4
"""Letters of a text that may stand for the initials of others, or the beginning of one."""
_SHARE = 0.5
"""Share of a text's words that the query has to have."""
MAX_DEPTH = 16


@dataclass(frozen=True)
class Query:
    """What a query says, taken apart once."""

    text: str

    @cached_property
    def folded(self) -> str:
        """The text without its accidents."""
        return fold_text(self.text)

    @cached_property
    def words(self) -> frozenset[str]:
        """Its words, folded."""
        return frozenset(_WORD.findall(self.folded))

    @cached_property
    def stems(self) -> frozenset[str]:
        """Its words without their endings."""
        return frozenset(map(_stem, self.words))

    @cached_property
    def initials(self) -> frozenset[str]:
        """First letters of every run of two to four words."""
        words = [word for word in _WORD.findall(self.folded) if word not in _SMALL]
        runs = (words[at : at + size] for size in (2, 3, 4) for at in range(len(words) - size + 1))
        return frozenset("".join(word[0] for word in run) for run in runs)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number it states, in any form."""
        return frozenset(_numbers(self.text, self.words))


def unsupported(item: Item) -> list[str]:
    """Return the values no word of the query supports, as `tool.argument = value`."""
    query = Query(item.query)
    found: list[str] = []
    for call in item.calls:
        tool = item.tool(call.name)
        properties: Mapping[str, Any] = tool.properties if tool else {}
        for name, value in call.arguments.items():
            parameter = properties.get(name, {})
            if "enum" in parameter or ("default" in parameter and parameter["default"] == value):
                continue
            wrong = (leaf for leaf in _leaves(value) if not supports(query, leaf))
            found += [f"{call.name}.{name} = {_short(leaf)}" for leaf in wrong]
    return found


def supports(query: Query, value: JsonValue) -> bool:
    """Return whether a query states a value that is no list or object."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return _near(abs(value), query.numbers)
    return _text(query, str(value))


def _text(query: Query, value: str) -> bool:
    folded = fold_text(value)
    if not folded or re.search(rf"(?<!\w){re.escape(folded)}(?!\w)", query.folded):
        return True
    if _ISO.fullmatch(value.strip()):
        return _day(value.strip()) in dates_in(query.text)
    if folded in times_in(query.text) or folded.removesuffix(":00") in times_in(query.text):
        return True
    try:
        return _near(abs(float(folded.replace(",", "").rstrip("%"))), query.numbers)
    except ValueError:
        return _words(query, value)


def _words(query: Query, value: str) -> bool:
    """Return whether enough of a text's words are words of the query, or it abbreviates them."""
    words = [word for word in _SPLIT.split(_CAMEL.sub(" ", value).lower()) if word]
    short = "".join(words)
    if len(short) <= _SHORT and short in query.initials:
        return True
    if len(short) < _SHORT:
        return any(word.startswith(short) for word in query.words)
    said = [word for word in words if word in query.words or _stem(word) in query.stems]
    return bool(words) and len(said) / len(words) >= _SHARE


def _stem(word: str) -> str:
    ending = next((e for e in _ENDINGS if word.endswith(e) and len(word) >= len(e) + 3), "")
    return word.removesuffix(ending)


def _numbers(text: str, words: frozenset[str]) -> Iterator[float]:
    for found in _NUMBER.findall(text):
        yield abs(float(found.replace(",", "").replace("−", "-")))
    for number, scale in _SCALED.findall(text):
        yield float(number.replace(",", "")) * _SCALES[scale.lower()]
    for word in words:
        if word in _SAID:
            yield _SAID[word]
    for digits in _JOINED.findall(text):
        yield float(digits)
    for tens, unit in re.findall(rf"\b({'|'.join(_TENS)})[- ]({'|'.join(NUMBERS[1:10])})\b", text, re.IGNORECASE):
        yield _SAID[tens.lower()] + _UNITS[unit.lower()]
    for month, name in enumerate(MONTHS, 1):
        if name.lower() in words:
            yield month


def _near(value: float, numbers: frozenset[float]) -> bool:
    return value in numbers or any(abs(value - number) <= 1e-9 * max(value, number) for number in numbers)


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _leaves(value: JsonValue, depth: int = 0) -> Iterator[JsonValue]:
    if depth > MAX_DEPTH:
        return
    if isinstance(value, list):
        for entry in value:
            yield from _leaves(entry, depth + 1)
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _leaves(entry, depth + 1)
    else:
        yield value


def _short(value: JsonValue) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
