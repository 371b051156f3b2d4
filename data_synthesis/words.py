"""Values in words, and back: dates, times, numbers, picks. The writer says them, the checks read them again."""
from __future__ import annotations

import random
import re
from collections.abc import Iterable
from datetime import date, timedelta

from data_synthesis.templates.model import COUNTED, Pick, Rule

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
"""Numbers said in words."""
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
"""Months in order."""
PICK_WORDS: dict[Rule, tuple[str, ...]] = {
    Rule.FIRST: ("the first {}", "the first {} on the list", "the top {}"),
    Rule.SECOND: ("the second {}", "the second {} on the list", "{} number two"),
    Rule.THIRD: ("the third {}", "the third {} on the list", "{} number three"),
    Rule.FOURTH: ("the fourth {}", "the fourth {} on the list", "{} number four"),
    Rule.FIFTH: ("the fifth {}", "the fifth {} on the list", "{} number five"),
    Rule.CHEAPEST: ("the cheapest {}", "the {} with the lowest price", "the least expensive {}"),
    Rule.BEST_RATED: ("the best rated {}", "the {} with the highest rating", "the highest rated {}"),
}
"""How a rule is said of a noun."""

_FIRST_FEW = re.compile(rf"\bthe (?:first|top) (\d|{'|'.join(NUMBERS[2:])})\b", re.IGNORECASE)
_MONTH = "|".join(MONTHS)
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_ISO = re.compile(r"\b(\d{4})-(\d\d)-(\d\d)\b")
_DAY_FIRST = re.compile(rf"\b{_DAY} (?:of )?({_MONTH}),? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({_MONTH}) {_DAY},? (\d{{4}})\b")
_RANGE = re.compile(rf"\b{_DAY} (?:to|until|till|through) {_DAY} (?:of )?({_MONTH}),? (\d{{4}})\b")
_NIGHTS = re.compile(rf"\b(\d+|{'|'.join(NUMBERS)}) nights?\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?(am|pm)\b|\b(\d{1,2}):(\d\d)\b", re.IGNORECASE)


def number(value: int, rng: random.Random, words: float = 0.5) -> str:
    """Return a number in digits or, with the chance `words`, in words."""
    return NUMBERS[value] if 0 <= value < len(NUMBERS) and rng.random() < words else str(value)


def ordinal(day: int) -> str:
    """Return 1st, 2nd, 3rd, 4th …"""
    ending = "th" if 10 <= day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"


def day_in_words(iso: str, style: str) -> str:
    """Return a date in one of the styles `iso`, `day`, `ordinal`, `month`."""
    day = date.fromisoformat(iso)
    month = MONTHS[day.month - 1]
    match style:
        case "day":
            return f"{day.day} {month} {day.year}"
        case "ordinal":
            return f"the {ordinal(day.day)} of {month} {day.year}"
        case "month":
            return f"{month} {day.day}, {day.year}"
        case _:
            return iso


def clock(text: str, rng: random.Random, words: float = 0.5) -> str:
    """Return a time HH:MM as it is or, with the chance `words`, with am and pm."""
    hour, minute = (int(part) for part in text.split(":"))
    if rng.random() >= words:
        return text
    half = "am" if hour < 12 else "pm"
    return f"{(hour - 1) % 12 + 1}{f':{minute:02d}' if minute else ''} {half}"


def pick_in_words(pick: Pick, noun: str, rng: random.Random) -> str:
    """Return how a person names the item of a rule, or the name itself."""
    return rng.choice(PICK_WORDS[pick]).format(noun) if isinstance(pick, Rule) else pick


def pick_plainly(pick: Pick, noun: str) -> str:
    """Return the plainest way to name the item of a rule, or the name itself."""
    return PICK_WORDS[pick][0].format(noun) if isinstance(pick, Rule) else pick


def dates_in(text: str) -> set[date]:
    """Return every date a text states: alone, as a range with one month, or as so many nights after another."""
    found: set[date] = set()
    for year, month, day in _ISO.findall(text):
        _add(found, year, month, day)
    for day, month, year in _DAY_FIRST.findall(text):
        _add(found, year, _month(month), day)
    for month, day, year in _MONTH_FIRST.findall(text):
        _add(found, year, _month(month), day)
    for first, last, month, year in _RANGE.findall(text):
        _add(found, year, _month(month), first)
        _add(found, year, _month(month), last)
    for nights in _NIGHTS.findall(text):
        found |= {day + timedelta(days=to_int(nights)) for day in set(found)}
    return found


def times_in(text: str) -> set[str]:
    """Return every time of day a text states, as HH:MM."""
    found: set[str] = set()
    for hour, minute, half, hour24, minute24 in _CLOCK.findall(text):
        if half:
            found.add(f"{int(hour) % 12 + (12 if half.lower() == 'pm' else 0):02d}:{minute or '00'}")
        else:
            found.add(f"{int(hour24):02d}:{minute24}")
    return found


def counts_in(text: str, nouns: Iterable[str]) -> set[int]:
    """Return the numbers a text gives right before one of the nouns."""
    pattern = rf"\b(\d+|{'|'.join(NUMBERS)}) (?:{'|'.join(nouns)})\b"
    return {to_int(found) for found in re.findall(pattern, text, re.IGNORECASE)}


def to_int(text: str) -> int:
    """Return the number written in digits or words."""
    return int(text) if text.isdigit() else NUMBERS.index(text.lower())


def rule_said(text: str, rule: Pick) -> bool:
    """Return whether a text names an item by this rule, whatever the noun, alone or as one of the first few."""
    if not isinstance(rule, Rule):
        return re.search(rf"(?<!\w){re.escape(rule)}(?!\w)", text, re.IGNORECASE) is not None
    few = max((to_int(number) for number in _FIRST_FEW.findall(text)), default=0)
    if rule in COUNTED[:few]:
        return True
    listed = rf"\bthe {rule}(?:,| and)" if rule in COUNTED else r"(?!)"
    if re.search(listed, text, re.IGNORECASE):
        return True
    parts = (re.escape(form).replace(r"\{\}", r"\w+(?: \w+)?") for form in PICK_WORDS[rule])
    return any(re.search(rf"\b{part}\b", text, re.IGNORECASE) for part in parts)


def _month(name: str) -> str:
    return str(MONTHS.index(name) + 1)


def _add(found: set[date], year: str, month: str, day: str) -> None:
    try:
        found.add(date(int(year), int(month), int(day)))
    except ValueError:
        return
