"""Joint search: one consistent chain of recorded calls for a pattern.

A chain binds every shared variable once (one place, one range of dates, one party), takes each dependent argument
from what the model will have seen of the earlier response, and asks only calls that the world has an answer to.

The search walks the steps in order and tries the matching entries in random order. Before an entry is taken it is
propagated: every later step that would get a value from it, or shares a variable with it, must still have a recorded
call for all that is known of it by then. Where none fits it steps back. Where nothing fits at all it says which step
was never passed, and what refused how many of its entries.
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from data_synthesis.index import Entries, Entry, Key, WorldIndex, folded
from data_synthesis.picks import assignments, item_of, names_in, picked
from data_synthesis.templates.model import NAMES, FromStep, FromUser, Kind, Pattern, Pick, Step
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text
from environment.core.task import Edge, GoldStep
from environment.session.observation import Clipped, LeftOut

__all__ = ["Chain", "Infeasible", "draw", "item_of", "narrow"]

MOST_NAMES = 12
"""Names of items that a pick by name may choose among, the most frequent of a sample first."""


@dataclass(frozen=True)
class Chain:
    """One way to fill a pattern."""

    pattern: Pattern
    values: Mapping[str, JsonValue]
    """Variable → value; a variable the calls leave out is absent."""
    picks: Mapping[str, Pick]
    entries: tuple[Entry, ...]
    steps: tuple[GoldStep, ...]

    @property
    def places(self) -> frozenset[str]:
        """The places and named things the user names; the split keeps them apart."""
        return frozenset(str(v) for name, v in self.values.items() if self.pattern.kinds[name] in NAMES)

    def identity(self) -> tuple[object, ...]:
        """Return what makes two chains the same: the calls, in canonical form."""
        return tuple(
            (s.tool, tuple(sorted(e.keys.items()))) for s, e in zip(self.pattern.steps, self.entries, strict=True)
        )


@dataclass(frozen=True)
class Infeasible:
    """No chain: the step that no attempt got past, and the most frequent reason there."""

    pattern: str
    step: str
    reason: str
    proven: bool = True
    """False where the search gave up before it had tried everything."""

    def __str__(self) -> str:
        return f"{self.pattern}: step {self.step}: {self.reason}"


@dataclass
class _Attempt:
    """The state of one search."""

    pattern: Pattern
    step: Callable[[Step], Entries]
    rng: random.Random
    allowed: Callable[[str], bool]
    place_of: Callable[[str], str]
    budget: int
    values: dict[str, JsonValue | None] = field(default_factory=dict[str, JsonValue | None])
    picks: dict[str, Pick] = field(default_factory=dict[str, Pick])
    entries: list[Entry] = field(default_factory=list[Entry])
    edges: list[tuple[Edge, ...]] = field(default_factory=list[tuple[Edge, ...]])
    deepest: int = -1
    reason: str = ""

    def fail(self, reason: str) -> bool:
        """Remember why the deepest step so far failed; return False."""
        if len(self.entries) > self.deepest:
            self.deepest, self.reason = len(self.entries), reason
        return False

    def number(self, name: str) -> int:
        """Return the number of the step of that name."""
        return self.pattern.numbers[name]


def draw(
    pattern: Pattern,
    index: WorldIndex,
    rng: random.Random,
    allowed: Callable[[str], bool] = lambda _: True,
    budget: int = 600,
    place_of: Callable[[str], str] = fold_text,
    domains: Mapping[str, Entries] | None = None,
) -> Chain | Infeasible:
    """Return a random chain of the pattern, or why there is none.

    Args:
        pattern: what to fill.
        index: the recorded world.
        rng: the only source of chance.
        allowed: which places may be named.
        budget: entries taken for each choice of picking rules before giving it up; the reason then says so.
        place_of: what names of one place have in common; two variables never name one place, unless the pattern says
            that they do.
        domains: the calls each step may use, where they are known to be fewer than those of the world (`prune`).
    """
    use = index.step if domains is None else lambda step: domains[step.name]
    failed, gave_up = _Attempt(pattern, use, rng, allowed, place_of, budget), False
    for rules in assignments(pattern, rng):
        attempt = _Attempt(pattern, use, rng, allowed, place_of, budget, picks=dict(rules))
        if _extend(attempt):
            return _chain(attempt)
        gave_up = gave_up or attempt.budget < 0
        failed = max(failed, attempt, key=lambda a: a.deepest)
    step = pattern.steps[max(failed.deepest, 0)].name
    return Infeasible(pattern.id, step, failed.reason or "no two picks can differ", proven=not gave_up)


def narrow(pattern: Pattern, index: WorldIndex, sample: int = 200, seed: int = 0) -> Pattern | Infeasible:
    """Return the pattern with only those picks that name something in what the model sees of a sample.

    How much it sees depends on the observation limit: where one item of a list is in sight, nobody can pick a second.
    A pick by name gets the names that are in sight.
    """
    picks: dict[str, tuple[Pick, ...]] = dict(pattern.picks)
    for _, _, source in pattern.sources():
        if not isinstance(source, FromStep) or source.pick is None:
            continue
        producer = pattern.step(source.step)
        entries = index.step(producer).all
        some = random.Random(seed).sample(entries, min(sample, len(entries)))
        if source.key is None:
            named = tuple(
                r for r in picks[source.pick] if any(picked(e, source, r, producer) is not None for e in some)
            )
        else:
            counted = Counter(name for entry in some for name in names_in(entry, source))
            named = tuple(name for name, _ in counted.most_common(MOST_NAMES))
        if not named:
            wanted = ", ".join(pattern.picks[source.pick]) or f"names by {source.key}"
            return Infeasible(pattern.id, producer.name, f"no item is in sight for the rules {wanted} of {source.pick}")
        picks[source.pick] = named
    return replace(pattern, picks=picks)


def _extend(attempt: _Attempt) -> bool:
    """Fill the next step and all after it; leave the attempt as it was where that is impossible."""
    number = len(attempt.entries)
    if number == len(attempt.pattern.steps):
        return True
    step = attempt.pattern.steps[number]
    tool = attempt.step(step)
    edges: list[Edge] = []
    fixed = _fixed(attempt, step, tool, edges)
    if fixed is None:
        return False
    candidates = tool.matching(fixed)
    if not candidates:
        return attempt.fail(f"{step.tool} has no entry with {_words(fixed)}")
    refused: Counter[str] = Counter()
    for entry in _shuffled(candidates, attempt.rng):
        bound = _bind(attempt, step, entry, refused)
        if bound is None:
            continue
        attempt.entries.append(entry)
        attempt.edges.append(tuple(edges))
        if _propagates(attempt, number, bound, refused):
            attempt.budget -= 1
            if attempt.budget < 0:
                return False
            if _extend(attempt):
                return True
        attempt.entries.pop()
        attempt.edges.pop()
        for name in bound:
            del attempt.values[name]
    why = "".join(f"; {count} {what}" for what, count in refused.most_common(3))
    return attempt.fail(f"none of {len(candidates)} entries of {step.tool} fits the values bound so far{why}")


def _propagates(attempt: _Attempt, number: int, bound: Sequence[str], refused: Counter[str]) -> bool:
    """Return whether every later step that the newest entry says something about can still be called."""
    for later in attempt.pattern.touched(number, frozenset(bound)):
        tool = attempt.step(later)
        known = _known(attempt, later, tool)
        if known is None:
            refused[f"show the model nothing to pick for {later.tool}"] += 1
            return False
        if not tool.matching(known):
            refused[f"leave {later.tool} without a recorded call; it wants {len(known)} values known by then"] += 1
            return False
    return True


def _known(attempt: _Attempt, step: Step, tool: Entries) -> dict[str, Key] | None:
    """Return the keys of a later step that the steps so far already fix; None where a pick names nothing."""
    known: dict[str, Key] = {}
    for argument, source in step.give.items():
        if isinstance(source, FromUser):
            value = attempt.values.get(source.variable)
        elif attempt.number(source.step) < len(attempt.entries):
            edge = _edge(attempt, argument, source)
            if edge is None:
                return None
            value = attempt.entries[edge.producer].field(edge.field)
        else:
            continue
        if is_scalar(value):
            known[argument] = tool.key(argument, value)
    return known


def is_scalar(value: JsonValue) -> bool:
    """Return whether a value can be an argument: text or a number that is whole."""
    return isinstance(value, str | int | float) and not isinstance(value, Clipped | LeftOut)


def _shuffled(entries: Sequence[Entry], rng: random.Random) -> Iterator[Entry]:
    """Yield the entries in random order, at the cost of those taken."""
    rest = list(entries)
    while rest:
        number = int(rng.random() * len(rest))
        rest[number], rest[-1] = rest[-1], rest[number]
        yield rest.pop()


def _fixed(attempt: _Attempt, step: Step, tool: Entries, edges: list[Edge]) -> dict[str, Key] | None:
    """Return the keys that are settled before an entry is chosen, adding the edges; None where one can't be."""
    fixed: dict[str, Key] = {}
    for argument, source in step.give.items():
        if isinstance(source, FromUser):
            value = attempt.values.get(source.variable)
            if value is not None:
                fixed[argument] = tool.key(argument, value)
            continue
        edge = _edge(attempt, argument, source)
        if edge is None:
            attempt.fail(f"{source.step} shows the model no {source.field}")
            return None
        edges.append(edge)
        fixed[argument] = tool.key(argument, attempt.entries[edge.producer].field(edge.field))
    return fixed


def _edge(attempt: _Attempt, argument: str, source: FromStep) -> Edge | None:
    producer = attempt.number(source.step)
    entry, path = attempt.entries[producer], source.field
    if source.pick is not None:
        number = picked(entry, source, attempt.picks[source.pick], attempt.pattern.steps[producer])
        if number is None:
            return None
        path = source.at(number)
    return Edge(argument, producer, path) if is_scalar(entry.field(path)) else None


def _bind(attempt: _Attempt, step: Step, entry: Entry, refused: Counter[str]) -> list[str] | None:
    """Bind the free variables of a step to an entry's values; return their names, or None (binding none) on a clash."""
    if any(entry is other for other in attempt.entries):
        refused["repeat a call of the chain"] += 1
        return None
    new: dict[str, JsonValue | None] = {}
    for argument, source in step.asked:
        value = entry.given.get(argument)
        if source.variable in new:
            if not _equal(step, entry, source.variable, argument):
                refused[f"give {source.variable} two values at once"] += 1
                return None
        elif source.variable in attempt.values:
            if (attempt.values[source.variable] is None) != (value is None):
                refused[f"give or leave out {argument} where another step does not"] += 1
                return None
        elif (value is None and not source.optional) or not _fits(attempt, source.variable, value, new):
            refused[f"give no {source.variable} that may be asked for"] += 1
            return None
        else:
            new[source.variable] = value
    attempt.values.update(new)
    return list(new)


def _equal(step: Step, entry: Entry, variable: str, argument: str) -> bool:
    """Return whether all arguments of a call that take one variable have its one value."""
    others = [a for a, source in step.give.items() if isinstance(source, FromUser) and source.variable == variable]
    return entry.keys.get(argument) == entry.keys.get(others[0])


def _fits(attempt: _Attempt, variable: str, value: JsonValue | None, new: Mapping[str, JsonValue | None]) -> bool:
    """Return whether a place may be named beside those named already, and a date lies after the one it follows."""
    if value is None:
        return True
    kind = attempt.pattern.kinds[variable]
    if kind is Kind.DATE:
        return _in_order(attempt, variable, str(value), new)
    if kind not in NAMES:
        return True
    return attempt.allowed(str(value)) and _apart(attempt, variable, str(value), new)


def _apart(attempt: _Attempt, variable: str, value: str, new: Mapping[str, JsonValue | None]) -> bool:
    """Return whether a name is of the place of the names it goes together with, and of no other's."""
    kinds, place = attempt.pattern.kinds, attempt.place_of(value)
    for name, other in [*attempt.values.items(), *new.items()]:
        if kinds[name] not in NAMES or other is None:
            continue
        one_place = attempt.place_of(str(other)) == place
        if any(name in group and variable in group for group in attempt.pattern.together):
            if not one_place or folded(str(other)) == folded(value):
                return False
        elif one_place:
            return False
    return True


def _in_order(attempt: _Attempt, variable: str, value: str, new: Mapping[str, JsonValue | None]) -> bool:
    known = {**attempt.values, **new, variable: value}
    for late, early in attempt.pattern.after.items():
        first, last = known.get(early), known.get(late)
        if first is not None and last is not None and not str(first) < str(last):
            return False
    return True


def _chain(attempt: _Attempt) -> Chain:
    steps = [
        GoldStep(
            step.tool,
            {n: entry.arguments[n] for n in step.arguments if n in entry.arguments},
            tuple(sorted({e.producer for e in edges})),
            edges,
        )
        for step, entry, edges in zip(attempt.pattern.steps, attempt.entries, attempt.edges, strict=True)
    ]
    values = {name: value for name, value in attempt.values.items() if value is not None}
    return Chain(attempt.pattern, values, attempt.picks, tuple(attempt.entries), tuple(steps))


def _words(fixed: Mapping[str, Key]) -> str:
    return " and ".join(f"{name} {key}" for name, key in fixed.items()) or "any arguments"
