"""Arc consistency: of every step's recorded calls, only those that have a partner at each neighbour.

An edge is arc-consistent where every call of the consumer takes a value that some call of the producer gives, and every
call of the producer gives a value that some call of the consumer takes, for one of the picks at least. A variable is
where every step that takes it has a call with each of its values. Removing calls at one arc may break another, so the
arcs are gone over until nothing changes. What is left is what a search has to look at; a step with nothing left proves
that the pattern can't be filled, and names the arc.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations

from data_synthesis.index import Entries, Entry, Key, WorldIndex
from data_synthesis.picks import picked
from data_synthesis.search import Infeasible, is_scalar
from data_synthesis.templates.model import FromStep, FromUser, Pattern, Step

Domains = Mapping[str, Entries]
"""Step name → the recorded calls it may use."""


def prune(pattern: Pattern, index: WorldIndex) -> Domains | Infeasible:
    """Return the calls each step may use, or the arc that leaves one nothing.

    Args:
        pattern: with its picks narrowed (`search.narrow`).
        index: the recorded world.
    """
    left = {step.name: index.step(step).all for step in pattern.steps}
    for step in pattern.steps:
        if not left[step.name]:
            return Infeasible(pattern.id, step.name, f"{step.tool} has no entry with what the step gives and wants")
    changed = True
    while changed:
        before = {name: len(entries) for name, entries in left.items()}
        for producer, consumer, argument, source in _edges(pattern):
            told = _edge(pattern, producer, consumer, argument, source, index, left)
            if told:
                return Infeasible(pattern.id, consumer.name, told)
        for first, second, a, b, variable in _shared(pattern):
            if _variable(first, second, a, b, left):
                reason = f"no value of {variable} is recorded for both {first.tool} and {second.tool}"
                return Infeasible(pattern.id, second.name, reason)
        changed = before != {name: len(entries) for name, entries in left.items()}
    return {step.name: _entries(step, index, left) for step in pattern.steps}


def _entries(step: Step, index: WorldIndex, left: Mapping[str, tuple[Entry, ...]]) -> Entries:
    whole = index.step(step)
    return whole if len(left[step.name]) == len(whole.all) else Entries(whole.schema, left[step.name])


def _edges(pattern: Pattern) -> Iterator[tuple[Step, Step, str, FromStep]]:
    for step, argument, source in pattern.sources():
        if isinstance(source, FromStep):
            yield pattern.step(source.step), step, argument, source


def _edge(
    pattern: Pattern,
    producer: Step,
    consumer: Step,
    argument: str,
    source: FromStep,
    index: WorldIndex,
    left: dict[str, tuple[Entry, ...]],
) -> str:
    """Prune both ends of an edge; return what is wrong where nothing is left."""
    tool = index.step(consumer)
    gives = {id(e): _given(pattern, producer, e, argument, source, tool) for e in left[producer.name]}
    produced = frozenset[Key]().union(*gives.values()) if gives else frozenset[Key]()
    consumers = tuple(e for e in left[consumer.name] if e.keys.get(argument) in produced)
    taken = {e.keys.get(argument) for e in consumers}
    left[producer.name] = tuple(e for e in left[producer.name] if not taken.isdisjoint(gives[id(e)]))
    left[consumer.name] = consumers
    if consumers:
        return ""
    return f"{consumer.tool} has no entry with {argument} from {source.field} of {producer.tool}"


def _given(
    pattern: Pattern, producer: Step, entry: Entry, argument: str, source: FromStep, tool: Entries
) -> frozenset[Key]:
    """Return the keys an entry can give: one for a fixed field, one a pick."""
    paths = [source.field]
    if source.pick is not None:
        numbers = {picked(entry, source, pick, producer) for pick in pattern.picks[source.pick]}
        paths = [source.at(number) for number in numbers if number is not None]
    values = [entry.field(path) for path in paths]
    return frozenset(tool.key(argument, value) for value in values if is_scalar(value))


def _shared(pattern: Pattern) -> Iterator[tuple[Step, Step, str, str, str]]:
    """Yield (step, step, argument, argument, variable) of variables that two steps have to give."""
    users = [(s, a, src.variable) for s, a, src in pattern.sources() if isinstance(src, FromUser) and not src.optional]
    for (first, a, one), (second, b, other) in combinations(users, 2):
        if one == other and first is not second:
            yield first, second, a, b, one


def _variable(first: Step, second: Step, a: str, b: str, left: dict[str, tuple[Entry, ...]]) -> bool:
    """Prune two steps to the values both have; return whether nothing is left."""
    both = {e.keys.get(a) for e in left[first.name]} & {e.keys.get(b) for e in left[second.name]}
    left[first.name] = tuple(e for e in left[first.name] if e.keys.get(a) in both)
    left[second.name] = tuple(e for e in left[second.name] if e.keys.get(b) in both)
    return not both
