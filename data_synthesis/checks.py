"""What a query must and must not say. A query that fails is thrown away, and the reasons are counted.

* Every value the user supplies is stated, in any of the forms `words` can read; a pick is stated by its rule.
* Nothing internal is said: no id out of a response, no coordinate, no name of a tool or of an argument.
* The plan isn't narrated: no steps, no look-ups, no ids to be passed on.
* It is neither too short nor too long.

The checks read the text alone, so a query from any other writer can be held to them too.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from data_synthesis.aliases import also
from data_synthesis.search import Chain
from data_synthesis.speaker import CHOICE_WORDS
from data_synthesis.templates.build import base
from data_synthesis.templates.model import FromStep, Kind
from data_synthesis.words import NUMBERS, counts_in, dates_in, rule_said, times_in
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text
from environment.core.schema import ToolSchema


class Reason(StrEnum):
    """Why a query or a chain was turned down."""

    UNSTATED = "unstated_value"
    PICK_UNSTATED = "unstated_pick"
    LEAK = "internal_value"
    TOOL_WORD = "tool_word"
    NARRATION = "narrated_plan"
    TOO_SHORT = "too_short"
    TOO_LONG = "too_long"
    SAME_CHAIN = "same_chain"
    NEAR_DUPLICATE = "near_duplicate"
    NO_CHAIN = "no_chain"
    INVALID_CALL = "call_not_valid"


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a query."""

    reason: Reason
    detail: str


@dataclass(frozen=True)
class CheckConfig:
    """Bounds of the checks."""

    min_words: int = 12
    """Of a request in the sentences of its pattern; one put together from its steps may be half as long."""
    max_words: int = 48
    words_per_step: int = 32
    """Of a request put together from its steps, where that allows more than `max_words`."""


COUNT_NOUNS: Mapping[str, tuple[str, ...]] = {
    "adults": ("adults?", "people", "person", "guests?", "passengers?", "travell?ers?", "of us"),
    "rooms": ("rooms?",),
    "radius": ("km", "kilomet(?:er|re)s?"),
}
"""Variable → the nouns that may follow its number."""
_NARRATION = re.compile(
    r"\b(?:step \d|steps?:|then (?:call|use|pass|feed)|first (?:call|look ?up|search for the id)|look ?up the id"
    r"|using the (?:id|result|output)|(?:ids?|tokens?|slugs?|identifiers?|coordinates) (?:of|from|for)"
    r"|api|endpoint|function|tool|json|parameters?|arguments?)\b",
    re.IGNORECASE,
)
_TOOLISH = re.compile(r"\b[A-Za-z]+(?:_[A-Za-z]+)+\b|\b[a-z]+[A-Z]\w*Id\b")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_TOKEN = re.compile(r"[^\s,;!?()\"]+")


def query_problems(
    chain: Chain, text: str, schemas: Mapping[str, ToolSchema], config: CheckConfig = CheckConfig()
) -> list[Problem]:
    """Return everything wrong with a text as the request for a chain; empty means it may be used."""
    return [*_length(chain, text, config), *_unstated(chain, text), *_internal(chain, text, schemas), *_narrated(text)]


def states(text: str, name: str, kind: Kind, value: JsonValue) -> bool:
    """Return whether a text states the value of a variable."""
    match kind:
        case Kind.PLACE | Kind.SPOT:
            said = fold_text(text)
            return any(re.search(rf"(?<!\w){re.escape(fold_text(n))}(?!\w)", said) for n in also(str(value)))
        case Kind.COORDINATE:
            return re.search(rf"(?<![\d.-]){re.escape(str(value))}(?!\d|\.\d)", text) is not None
        case Kind.DATE:
            return date.fromisoformat(str(value)) in dates_in(text)
        case Kind.TIME:
            return str(value) in times_in(text)
        case Kind.COUNT:
            return int(value) in counts_in(text, COUNT_NOUNS.get(base(name), (re.escape(name),)))
        case Kind.CHOICE:
            said = CHOICE_WORDS.get(base(name), {}).get(str(value), str(value))
            return re.search(rf"\b{re.escape(said)}\b", text, re.IGNORECASE) is not None
        case Kind.AGES:
            ages = str(value).split(",")
            told = re.search(
                rf"\b(?:aged?|years?)\b[\w ,]*|\b[\w ,]*(?:years?|year-olds?)\b|\b(?:{'|'.join(NUMBERS)})\b", text
            )
            return told is not None and all(re.search(rf"\b{age}\b", text) for age in ages)
        case Kind.MONEY:
            return re.search(rf"(?<![\d.]){re.escape(str(value))}(?![\d]|\.\d)", text) is not None


def _length(chain: Chain, text: str, config: CheckConfig) -> Iterator[Problem]:
    words = len(text.split())
    most = config.max_words
    if not chain.pattern.say:
        most = max(most, config.words_per_step * len(chain.pattern.steps))
    fewest = config.min_words if chain.pattern.say else config.min_words // 2
    if words < fewest:
        yield Problem(Reason.TOO_SHORT, f"{words} words")
    if words > most:
        yield Problem(Reason.TOO_LONG, f"{words} words")


def _unstated(chain: Chain, text: str) -> Iterator[Problem]:
    for name, value in chain.values.items():
        if not states(text, name, chain.pattern.kinds[name], value):
            yield Problem(Reason.UNSTATED, f"{name} = {value}")
    for name, rule in chain.picks.items():
        if not rule_said(text, rule):
            yield Problem(Reason.PICK_UNSTATED, f"{name} = {rule}")


def _internal(chain: Chain, text: str, schemas: Mapping[str, ToolSchema]) -> Iterator[Problem]:
    said = {token.strip(".:'").casefold() for token in _TOKEN.findall(text)}
    for step, argument, source in chain.pattern.sources():
        if not isinstance(source, FromStep):
            continue
        entry = chain.entries[chain.pattern.steps.index(step)]
        value = str(entry.given.get(argument, ""))
        if _is_internal(value) and value.casefold() in said:
            yield Problem(Reason.LEAK, f"{argument} = {value}")
    toolish = _TOOLISH.search(text)
    if toolish is not None:
        yield Problem(Reason.TOOL_WORD, toolish[0])
    for step in chain.pattern.steps:
        if step.tool in schemas and step.tool.casefold() in text.casefold():
            yield Problem(Reason.TOOL_WORD, step.tool)


def _is_internal(value: str) -> bool:
    """Return whether a derived value is one no person would say: an id, a token, a coordinate; a date is none."""
    return len(value) >= 3 and not _DAY.fullmatch(value) and any(c.isdigit() or c in "_=." for c in value)


def _narrated(text: str) -> Iterator[Problem]:
    found = _NARRATION.search(text)
    if found is not None:
        yield Problem(Reason.NARRATION, found[0])
