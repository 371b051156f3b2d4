"""Blind restarts: how chains are sampled without constraints, as the baseline.

Steps in order. A step that depends on none takes a random recorded call; one that does reads its values out of the
answers so far and takes a random call that has them; any gap starts over. Nothing is shared between steps but those
values, there is no look-ahead and no stepping back. Values are compared in normal form, which is kind to it: by plain
equality, differently typed ends would never meet.
"""
from __future__ import annotations

import random
from collections.abc import Callable

from data_synthesis.index import Entry, Key, WorldIndex
from data_synthesis.paths import get
from data_synthesis.templates.model import COUNTED, NAMES, FromStep, FromUser, Pattern, Rule, Step

RESTARTS = 50
"""Attempts at one chain before it is given up."""


def attempt(pattern: Pattern, index: WorldIndex, rng: random.Random) -> list[Entry] | None:
    """Return the calls of one attempt, or None where it met a gap."""
    chosen: dict[str, Entry] = {}
    for step in pattern.steps:
        tool = index.tool(step.tool)
        fixed: dict[str, Key] = {}
        for argument, source in step.give.items():
            if isinstance(source, FromStep):
                value = get(chosen[source.step].value, _path(pattern, source, chosen[source.step]))
                if not isinstance(value, str | int | float):
                    return None
                fixed[argument] = tool.key(argument, value)
        candidates = tool.matching(fixed)
        if not candidates:
            return None
        chosen[step.name] = rng.choice(candidates)
    return [chosen[step.name] for step in pattern.steps]


def consistent(pattern: Pattern, entries: list[Entry], place_of: Callable[[str], str]) -> bool:
    """Return whether a request could ask for these calls: one value a shared variable, one place where it must be."""
    values: dict[str, object] = {}
    for step, entry in zip(pattern.steps, entries, strict=True):
        if any(argument not in step.give for argument in entry.given) or not _shared(step, entry, values):
            return False
    places = {v: place_of(str(values[v])) for v, kind in pattern.kinds.items() if kind in NAMES and values.get(v)}
    for group in pattern.together:
        if len({places[v] for v in group if v in places}) > 1:
            return False
    apart = [v for v in places if not any(v in group for group in pattern.together)]
    alone = [places[v] for v in apart] + [places[min(g & places.keys())] for g in pattern.together if g & places.keys()]
    return len(set(alone)) == len(alone) and _in_order(pattern, values)


def _path(pattern: Pattern, source: FromStep, entry: Entry) -> str:
    """Return the path with an index in place of the pick, as templates with fixed indices have it."""
    if source.pick is None:
        return source.field
    rules = pattern.picks[source.pick]
    first = rules[0] if rules else None
    return source.at(COUNTED.index(Rule(first)) if first in COUNTED else 0)


def _shared(step: Step, entry: Entry, values: dict[str, object]) -> bool:
    for argument, source in step.give.items():
        if isinstance(source, FromUser):
            value = entry.given.get(argument)
            if value is None and not source.optional:
                return False
            if values.setdefault(source.variable, value) != value:
                return False
    return True


def _in_order(pattern: Pattern, values: dict[str, object]) -> bool:
    pairs = [(values.get(early), values.get(late)) for late, early in pattern.after.items()]
    return all(first is None or last is None or str(first) < str(last) for first, last in pairs)
