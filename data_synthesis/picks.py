"""Which item of a list a user means: the first, the cheapest, or the one of that name.

A position needs a list of two items or more. A comparison needs two in sight, and a strict winner of the whole list
among them: with a tie, or a winner that was cut away, the request could be read either way. A name must be that of one
item alone.
"""
from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import TypeGuard

from data_synthesis.index import Entry
from data_synthesis.paths import MISSING, get
from data_synthesis.templates.model import COUNTED, FromStep, Pattern, Pick, Rule, Step
from environment.core.calls import JsonValue


def picked(entry: Entry, source: FromStep, pick: Pick, step: Step) -> int | None:
    """Return the index of the item a pick names in the answer of its producer, or None where it names none."""
    question = (source.list_path, source.key, pick, step.ranks.get(Rule(pick)) if source.key is None else None)
    if question not in entry.picks:
        if source.key is not None:
            entry.picks[question] = _named(entry, source.list_path, source.key, pick)
        else:
            entry.picks[question] = item_of(entry, source.list_path, Rule(pick), step.ranks)
    return entry.picks[question]


def item_of(entry: Entry, path: str, rule: Rule, ranks: Mapping[Rule, str]) -> int | None:
    """Return the index of the item a rule names in the list that the model sees, or None where it names none.

    Args:
        entry: an answer.
        path: of the list.
        rule: how the item is named.
        ranks: rule → path, inside an item, of the number it compares.
    """
    items = get(entry.value, path)
    if not isinstance(items, list) or len(items) < 2:
        return None
    if rule in COUNTED:
        number = COUNTED.index(rule)
    elif _in_sight(entry, path, 0) and _in_sight(entry, path, 1):
        number = _winner(items, ranks.get(rule, "?"), rule)
    else:
        return None
    return number if number is not None and _in_sight(entry, path, number) else None


def names_in(entry: Entry, source: FromStep) -> list[str]:
    """Return the names of the items in sight by which a user may call one."""
    items = get(entry.seen, source.list_path)
    found = [get(item, source.key or "") for item in items] if isinstance(items, list) else []
    return [name for name in found if isinstance(name, str) and found.count(name) == 1]


def assignments(pattern: Pattern, rng: random.Random) -> Iterator[dict[str, Pick]]:
    """Yield assignments of rules to pick variables, no rule twice for one list, in random order."""
    names = list(pattern.picks)
    lists = _lists(pattern)

    def assign(chosen: dict[str, Pick]) -> Iterator[dict[str, Pick]]:
        if len(chosen) == len(names):
            yield chosen
            return
        name = names[len(chosen)]
        taken = [chosen[other] for other in chosen if lists.get(other) == lists.get(name)]
        for rule in rng.sample(pattern.picks[name], len(pattern.picks[name])):
            if rule not in taken:
                yield from assign({**chosen, name: rule})

    yield from assign({})


def _lists(pattern: Pattern) -> dict[str, tuple[str, str]]:
    """Return pick variable → the list it picks from."""
    sources = [source for _, _, source in pattern.sources() if isinstance(source, FromStep)]
    return {source.pick: (source.step, source.list_path) for source in sources if source.pick is not None}


def _named(entry: Entry, path: str, key: str, name: str) -> int | None:
    items = get(entry.value, path)
    if not isinstance(items, list):
        return None
    called = [number for number, item in enumerate(items) if get(item, key) == name]
    return called[0] if len(called) == 1 and _in_sight(entry, path, called[0]) else None


def _in_sight(entry: Entry, path: str, number: int) -> bool:
    item = get(entry.value, f"{path}[{number}]")
    return item is not MISSING and get(entry.seen, f"{path}[{number}]") == item


def _winner(items: list[JsonValue], path: str, rule: Rule) -> int | None:
    numbers: list[float] = [n for n in (get(item, path) for item in items) if _number(n)]
    if len(numbers) < len(items):
        return None
    best = min(numbers) if rule is Rule.CHEAPEST else max(numbers)
    return numbers.index(best) if numbers.count(best) == 1 else None


def _number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
