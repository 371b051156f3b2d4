"""Joint search: one consistent chain of recorded calls for a pattern.

A chain binds every shared variable once (one place, one range of dates, one party), takes each dependent argument
from what the model will have seen of the earlier response, and asks only calls that the world has an answer to.
The search walks the steps in order, tries the matching entries in random order and steps back where none fits.
Where nothing fits at all it says which step was never passed, and why.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeGuard

from data_synthesis.index import Entries, Entry, Key, WorldIndex
from data_synthesis.paths import MISSING, get
from data_synthesis.templates.model import FromStep, FromUser, Kind, Pattern, Rule, Step
from environment.core.calls import JsonValue
from environment.core.canonical import fold_text
from environment.core.task import Edge, GoldStep
from environment.session.observation import Clipped, LeftOut

_POSITION = {Rule.FIRST: 0, Rule.SECOND: 1, Rule.THIRD: 2}


@dataclass(frozen=True)
class Chain:
    """One way to fill a pattern."""

    pattern: Pattern
    values: Mapping[str, JsonValue]
    """Variable → value; a variable the calls leave out is absent."""
    picks: Mapping[str, Rule]
    entries: tuple[Entry, ...]
    steps: tuple[GoldStep, ...]

    @property
    def places(self) -> frozenset[str]:
        """The places the user names; the split keeps them apart."""
        return frozenset(str(v) for name, v in self.values.items() if self.pattern.kinds[name] is Kind.PLACE)

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
    index: WorldIndex
    rng: random.Random
    allowed: Callable[[str], bool]
    place_of: Callable[[str], str]
    budget: int
    values: dict[str, JsonValue | None] = field(default_factory=dict[str, JsonValue | None])
    picks: dict[str, Rule] = field(default_factory=dict[str, Rule])
    entries: list[Entry] = field(default_factory=list[Entry])
    edges: list[tuple[Edge, ...]] = field(default_factory=list[tuple[Edge, ...]])
    deepest: int = -1
    reason: str = ""

    def fail(self, reason: str) -> bool:
        """Remember why the deepest step so far failed; return False."""
        if len(self.entries) > self.deepest:
            self.deepest, self.reason = len(self.entries), reason
        return False


def draw(
    pattern: Pattern,
    index: WorldIndex,
    rng: random.Random,
    allowed: Callable[[str], bool] = lambda _: True,
    budget: int = 600,
    place_of: Callable[[str], str] = fold_text,
) -> Chain | Infeasible:
    """Return a random chain of the pattern, or why there is none.

    Args:
        pattern: what to fill.
        index: the recorded world.
        rng: the only source of chance.
        allowed: which places may be named.
        budget: entries tried for each choice of picking rules before giving it up; the reason then says so.
        place_of: what names of one place have in common; two variables never name one place.
    """
    failed, gave_up = _Attempt(pattern, index, rng, allowed, place_of, budget), False
    for rules in _rules(pattern, rng):
        attempt = _Attempt(pattern, index, rng, allowed, place_of, budget, picks=dict(rules))
        if _extend(attempt):
            return _chain(attempt)
        gave_up = gave_up or attempt.budget < 0
        failed = max(failed, attempt, key=lambda a: a.deepest)
    step = pattern.steps[max(failed.deepest, 0)].name
    return Infeasible(pattern.id, step, failed.reason or "no two picks can differ", proven=not gave_up)


def narrow(pattern: Pattern, index: WorldIndex, sample: int = 200, seed: int = 0) -> Pattern | Infeasible:
    """Return the pattern with only those picking rules that name something in what the model sees of a sample.

    How much it sees depends on the observation limit: where one item of a list is in sight, nobody can pick a second.
    """
    picks: dict[str, tuple[Rule, ...]] = dict(pattern.picks)
    for _, _, source in pattern.sources():
        if not isinstance(source, FromStep) or source.pick is None:
            continue
        producer = pattern.step(source.step)
        entries = index.step(producer).all
        some = random.Random(seed).sample(entries, min(sample, len(entries)))
        named = [
            r for r in picks[source.pick] if any(item_of(e, source.field, r, producer.ranks) is not None for e in some)
        ]
        if not named:
            wanted = ", ".join(pattern.picks[source.pick])
            return Infeasible(pattern.id, producer.name, f"no item is in sight for the rules {wanted} of {source.pick}")
        picks[source.pick] = tuple(named)
    return replace(pattern, picks=picks)


def item_of(entry: Entry, field_path: str, rule: Rule, ranks: Mapping[Rule, str]) -> int | None:
    """Return the index of the item a rule names in the list that the model sees, or None where it names none.

    A position needs a list of two items or more. A comparison needs two in sight, and a strict winner of the whole
    list among them: with a tie, or a winner that was cut away, the request could be read either way.
    """
    path = field_path.partition("[@")[0]
    items = get(entry.value, path)
    if not isinstance(items, list) or len(items) < 2:
        return None
    if rule in _POSITION:
        number = _POSITION[rule]
    elif _in_sight(entry, path, 0) and _in_sight(entry, path, 1):
        number = _winner(items, ranks.get(rule, "?"), rule)
    else:
        return None
    return number if number is not None and _in_sight(entry, path, number) else None


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


def _rules(pattern: Pattern, rng: random.Random) -> Iterator[dict[str, Rule]]:
    """Yield assignments of rules to pick variables, no rule twice, in random order."""
    names = list(pattern.picks)

    def assign(chosen: dict[str, Rule]) -> Iterator[dict[str, Rule]]:
        if len(chosen) == len(names):
            yield chosen
            return
        name = names[len(chosen)]
        for rule in rng.sample(pattern.picks[name], len(pattern.picks[name])):
            if rule not in chosen.values():
                yield from assign({**chosen, name: rule})

    yield from assign({})


def _extend(attempt: _Attempt) -> bool:
    """Fill the next step and all after it; leave the attempt as it was where that is impossible."""
    number = len(attempt.entries)
    if number == len(attempt.pattern.steps):
        return True
    step = attempt.pattern.steps[number]
    tool = attempt.index.step(step)
    edges: list[Edge] = []
    fixed = _fixed(attempt, step, tool, edges)
    if fixed is None:
        return False
    candidates = tool.matching(fixed)
    if not candidates:
        return attempt.fail(f"{step.tool} has no entry with {_words(fixed)}")
    supports = _supports(attempt, number)
    for entry in _shuffled(candidates, attempt.rng):
        if not all(support.holds(entry) for support in supports):
            continue
        attempt.budget -= 1
        if attempt.budget < 0:
            return False
        bound = _bind(attempt, step, entry)
        if bound is None:
            continue
        attempt.entries.append(entry)
        attempt.edges.append(tuple(edges))
        if _extend(attempt):
            return True
        attempt.entries.pop()
        attempt.edges.pop()
        for name in bound:
            del attempt.values[name]
    ahead = "".join(f"; {support.tool.schema.name} wants {len(support.keys)} values from it" for support in supports)
    return attempt.fail(f"none of {len(candidates)} entries of {step.tool} fits the values bound so far{ahead}")


@dataclass(frozen=True)
class _Support:
    """What a later step can take from this one: `field` of an entry must have one of the keys."""

    field: str
    argument: str
    tool: Entries
    keys: frozenset[Key]

    def holds(self, entry: Entry) -> bool:
        """Return whether the later step has a recorded call for what this entry gives."""
        value = get(entry.seen, self.field)
        return _scalar(value) and self.tool.key(self.argument, value) in self.keys


def _supports(attempt: _Attempt, number: int) -> list[_Support]:
    """Return the look-ahead for a step: later steps that take a fixed field of it, given what is bound already."""
    steps = attempt.pattern.steps
    found: list[_Support] = []
    for later in steps[number + 1 :]:
        tool = attempt.index.step(later)
        for argument, source in later.give.items():
            if isinstance(source, FromStep) and source.pick is None and source.step == steps[number].name:
                keys = tool.values(argument, _known(attempt, later, tool))
                found.append(_Support(source.field, argument, tool, keys))
    return found


def _known(attempt: _Attempt, step: Step, tool: Entries) -> dict[str, Key]:
    """Return the keys of a later step that the steps so far already fix."""
    names = [s.name for s in attempt.pattern.steps[: len(attempt.entries)]]
    known: dict[str, Key] = {}
    for argument, source in step.give.items():
        if isinstance(source, FromUser):
            value = attempt.values.get(source.variable)
        elif source.pick is None and source.step in names:
            value = get(attempt.entries[names.index(source.step)].seen, source.field)
        else:
            continue
        if _scalar(value):
            known[argument] = tool.key(argument, value)
    return known


def _scalar(value: JsonValue) -> bool:
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
        fixed[argument] = tool.key(argument, get(attempt.entries[edge.producer].seen, edge.field))
    return fixed


def _edge(attempt: _Attempt, argument: str, source: FromStep) -> Edge | None:
    producer = [s.name for s in attempt.pattern.steps].index(source.step)
    entry, path = attempt.entries[producer], source.field
    if source.pick is not None:
        number = item_of(entry, path, attempt.picks[source.pick], attempt.pattern.steps[producer].ranks)
        if number is None:
            return None
        path = path.replace(f"[@{source.pick}]", f"[{number}]")
    return Edge(argument, producer, path) if _scalar(get(entry.seen, path)) else None


def _bind(attempt: _Attempt, step: Step, entry: Entry) -> list[str] | None:
    """Bind the free variables of a step to an entry's values; return their names, or None (binding none) on a clash."""
    new: dict[str, JsonValue | None] = {}
    for argument, source in step.give.items():
        if not isinstance(source, FromUser):
            continue
        value = entry.arguments.get(argument)
        if source.variable in attempt.values:
            if (attempt.values[source.variable] is None) != (value is None):
                return None
        elif (value is None and not source.optional) or not _fits(attempt, source.variable, value, new):
            return None
        else:
            new[source.variable] = value
    attempt.values.update(new)
    return list(new)


def _fits(attempt: _Attempt, variable: str, value: JsonValue | None, new: Mapping[str, JsonValue | None]) -> bool:
    """Return whether a place may be named and isn't named already by another variable."""
    if attempt.pattern.kinds[variable] is not Kind.PLACE or value is None:
        return True
    kinds = attempt.pattern.kinds
    named = [str(v) for name, v in [*attempt.values.items(), *new.items()] if kinds[name] is Kind.PLACE]
    return attempt.allowed(str(value)) and attempt.place_of(str(value)) not in map(attempt.place_of, named)


def _chain(attempt: _Attempt) -> Chain:
    steps = [
        GoldStep(
            step.tool,
            {n: entry.arguments[n] for n in step.give if n in entry.arguments},
            tuple(sorted({e.producer for e in edges})),
            edges,
        )
        for step, entry, edges in zip(attempt.pattern.steps, attempt.entries, attempt.edges, strict=True)
    ]
    values = {name: value for name, value in attempt.values.items() if value is not None}
    return Chain(attempt.pattern, values, attempt.picks, tuple(attempt.entries), tuple(steps))


def _words(fixed: Mapping[str, Key]) -> str:
    return " and ".join(f"{name} {key}" for name, key in fixed.items()) or "any arguments"
