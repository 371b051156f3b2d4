"""Walks of patterns through the simulated world, so that what templates lead to gets recorded.

`environment.cache.plan` records what short requests lead to. A long chain needs calls that fit each other over many
steps: the flight on the attraction's first open day, the taxi to that hotel. A walk gives every place and date of a
pattern a value, follows the steps through the simulator and records each call, and for a page the same call for the
other items of the list, so that a search over the recording still has a choice.

Every look-up of every name is recorded first: the split of places follows from these alone, so it is known here and the
same later, and each walk stays on one side of it.
"""
from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta

from data_synthesis.index import Entry, WorldIndex, answers, usable
from data_synthesis.paths import get
from data_synthesis.picks import assignments, names_in, picked
from data_synthesis.split import EntitySplit, place_groups, split_places
from data_synthesis.templates.build import base
from data_synthesis.templates.model import NAMES, FromStep, FromUser, Kind, Pattern, Pick, Source, Step
from environment.booking.facts import day_text
from environment.booking.hotels import LANDMARKS
from environment.booking.seed_world import SeedWorld
from environment.cache.plan import calendar
from environment.core.calls import JsonValue, ResultStatus
from environment.core.ports import put
from environment.core.schema import ToolSchema

Call = tuple[str, dict[str, JsonValue]]
LOOK_UPS = (
    "Search_Hotel_Destination", "Search_Flight_Location", "Search_Attraction_Location", "Search_Car_Location",
    "Taxi_Search_Location", "Location_to_Lat_Long",
)  # fmt: skip
TIMES = ("09:00", "10:00", "12:00", "18:00")
ITEMS = 5
"""Items of a list whose pages are recorded besides the one the walk goes on with."""
TRIES = 12
"""Beginnings of one walk before it is left."""


@dataclass(frozen=True)
class Rehearsal:
    """How much is walked, and for which split."""

    patterns: Sequence[Pattern]
    walks: int = 24
    """Walks a pattern on each side of the split."""
    heldout_share: float = 0.2
    seed: int = 0
    """Of the split and of the walks."""

    def calls(self, world: SeedWorld) -> Iterator[Call]:
        """Yield the calls to record; the same world and settings give the same calls in the same order."""
        names = _Names(world)
        look_ups = [(tool, {"query": name}) for tool in LOOK_UPS for name in names.all]
        recorded = _Recorded(world, look_ups)
        yield from recorded.calls
        split = self._split(WorldIndex(recorded, lambda _, value: value))
        for pattern in self.patterns:
            for side in ("train", "heldout"):
                for number in range(self.walks):
                    rng = random.Random(f"{self.seed}/rehearsal/{side}/{pattern.id}/{number}")
                    yield from _walk(pattern, world, names.on(split, side), rng)

    def _split(self, index: WorldIndex) -> EntitySplit:
        return split_places(place_groups(self.patterns, index), self.heldout_share, self.seed)


class _Recorded:
    """Look-ups and their answers as a recorded world."""

    def __init__(self, world: SeedWorld, calls: Sequence[Call]) -> None:
        self.schemas: Mapping[str, ToolSchema] = world.schemas
        self.calls: list[Call] = []
        self._entries: dict[str, list[tuple[dict[str, JsonValue], JsonValue]]] = {}
        for tool, arguments in calls:
            answer = world.call(tool, arguments)
            if answer.status is ResultStatus.OK:
                self.calls.append((tool, arguments))
                self._entries.setdefault(tool, []).append((arguments, answer.value))

    def entries(self, tool: str) -> Iterator[tuple[dict[str, JsonValue], JsonValue]]:
        """Yield (arguments, value) of every look-up of the tool."""
        yield from self._entries.get(tool, ())


class _Names:
    """What a user may name, by what it is and by city."""

    def __init__(self, world: SeedWorld, allowed: Callable[[str], bool] | None = None) -> None:
        self.world = world
        places = world.facts.places
        self._by_kind: dict[str, list[tuple[str, int]]] = {
            "city": [(p.city, n) for n, p in enumerate(places)],
            "country": [(f"{p.city}, {p.country}", n) for n, p in enumerate(places)],
            "airport": [(p.airport, n) for n, p in enumerate(places)],
            "station": [(f"{p.city} Central Station", n) for n, p in enumerate(places)],
            "landmark": [(f"{p.city} {name}", n) for n, p in enumerate(places) for name in LANDMARKS],
            "hotel": [(h.name, h.city) for h in world.hotels.hotels],
            "attraction": [(a.name, a.city) for a in world.attractions.attractions],
        }
        keep = allowed or (lambda _: True)
        self.cities = [n for name, n in self._by_kind["city"] if keep(name)]

    @property
    def all(self) -> list[str]:
        """Every name there is."""
        return list(dict.fromkeys(name for named in self._by_kind.values() for name, _ in named))

    def on(self, split: EntitySplit, side: str) -> _Names:
        """Return the names of one side of a split."""
        return _Names(self.world, split.in_train if side == "train" else split.in_heldout)

    def of(self, variable: str, kind: Kind, tool: str, city: int) -> list[str]:
        """Return the names of a city that a variable may have where a tool takes it."""
        wanted = base(variable)
        if wanted not in self._by_kind:
            wanted = "city" if kind is Kind.PLACE else "attraction" if "Attraction" in tool else "landmark"
        return [name for name, n in self._by_kind[wanted] if n == city]


@dataclass
class _Walk:
    """One way through a pattern, as far as it got."""

    pattern: Pattern
    names: _Names
    rng: random.Random
    cities: Mapping[str, int]
    picks: dict[str, Pick]
    first_day: date
    values: dict[str, JsonValue | None] = field(default_factory=dict[str, JsonValue | None])
    entries: dict[str, Entry] = field(default_factory=dict[str, Entry])

    def argument(self, argument: str, source: Source, tool: ToolSchema) -> JsonValue | None:
        """Return the value of an argument; None where it is left out or can't be had."""
        if isinstance(source, FromStep):
            return self.seen(source)
        if source.variable not in self.values:
            self.values[source.variable] = self._chosen(source, argument, tool)
        return self.values[source.variable]

    def seen(self, source: FromStep, number: int | None = None) -> JsonValue | None:
        """Return the value a source stands for; `number` takes another item than the one picked."""
        entry, path = self.entries[source.step], source.field
        if source.pick is not None:
            if source.key is not None and source.pick not in self.picks:
                self.picks[source.pick] = self.rng.choice(names_in(entry, source) or ["?"])
            item = picked(entry, source, self.picks[source.pick], self.pattern.step(source.step))
            if item is None:
                return None
            path = source.at(item if number is None else number)
        found = get(entry.value, path)
        return found if isinstance(found, str | int | float) else None

    def _chosen(self, source: FromUser, argument: str, tool: ToolSchema) -> JsonValue | None:
        kind = self.pattern.kinds[source.variable]
        if source.optional and self.rng.random() < 0.5:
            return None
        if kind in NAMES:
            return self.rng.choice(self.names.of(source.variable, kind, tool.name, self.cities[source.variable]))
        if kind is Kind.DATE:
            return self._day(source.variable)
        if kind is Kind.COORDINATE:
            point = self.names.world.facts.places[self.cities[_point(source.variable)]].centre
            return point["longitude" in argument]
        return self._plain(kind, argument, tool)

    def _plain(self, kind: Kind, argument: str, tool: ToolSchema) -> JsonValue:
        if kind is Kind.TIME:
            return self.rng.choice(TIMES)
        schema = tool.properties.get(argument, {})
        if "enum" in schema:
            return self.rng.choice([value for value in schema["enum"] if value != schema.get("default")])
        if argument == "radius":
            return self.rng.choice((20, 50))
        if kind is Kind.MONEY:
            return self.rng.choice((100, 150) if "min" in argument else (400, 600, 900))
        return "6" if kind is Kind.AGES else 2 if argument == "room_qty" else self.rng.choice((2, 3))

    def _day(self, variable: str) -> str:
        """Return a day: a few days after the one it lies after, or near the first."""
        early = self.pattern.after.get(variable)
        if early is None:
            return (self.first_day + timedelta(days=self.rng.choice((0, 0, 1)))).isoformat()
        if self.values.get(early) is None:
            self.values[early] = self._day(early)
        return (date.fromisoformat(str(self.values[early])) + timedelta(days=self.rng.choice((1, 2, 3)))).isoformat()


def _walk(pattern: Pattern, world: SeedWorld, names: _Names, rng: random.Random) -> Iterator[Call]:
    """Yield the calls of the first of a few walks that gets to the end; nothing where none does."""
    for _ in range(TRIES):
        calls = _attempt(pattern, world, names, rng)
        if calls is not None:
            yield from calls
            return


def _attempt(pattern: Pattern, world: SeedWorld, names: _Names, rng: random.Random) -> list[Call] | None:
    cities = _cities(pattern, names, rng)
    fixed = _by_rule(pattern)
    picks = next(assignments(fixed, rng), None)
    if cities is None or picks is None:
        return None
    first = date.fromisoformat(day_text(rng.choice(calendar(world))))
    walk = _Walk(pattern, names, rng, cities, picks, first)
    calls: list[Call] = []
    for step in pattern.steps:
        schema = world.schemas[step.tool]
        given = {argument: walk.argument(argument, source, schema) for argument, source in step.give.items()}
        if any(given[a] is None for a, s in step.give.items() if isinstance(s, FromStep)):
            return None
        arguments = nested({argument: value for argument, value in given.items() if value is not None})
        answer = world.call(step.tool, arguments)
        entry = Entry(arguments, {}, answer.value, schema, lambda _, value: value)
        if answer.status is not ResultStatus.OK or not answers(answer.value) or not usable(step, entry):
            return None
        walk.entries[step.name] = entry
        calls += [(step.tool, arguments), *_other_items(walk, step, given)]
    return calls


def _by_rule(pattern: Pattern) -> Pattern:
    """Return the pattern without the picks by name, whose names a walk finds on its way."""
    return replace(pattern, picks={name: rules for name, rules in pattern.picks.items() if rules})


def _other_items(walk: _Walk, step: Step, given: Mapping[str, JsonValue | None]) -> Iterator[Call]:
    """Yield the same call for the other items of the list that its picks are of."""
    sources = {a: s for a, s in step.give.items() if isinstance(s, FromStep) and s.pick and s.key is None}
    for number in range(ITEMS if sources else 0):
        moved = {argument: walk.seen(source, number) for argument, source in sources.items()}
        if all(value is not None for value in moved.values()):
            yield step.tool, nested({a: v for a, v in {**given, **moved}.items() if v is not None})


def _cities(pattern: Pattern, names: _Names, rng: random.Random) -> dict[str, int] | None:
    """Return variable → city: one for variables that go together, another for each of the rest."""
    named = [v for v, kind in pattern.kinds.items() if kind in NAMES]
    named += sorted({_point(v) for v, kind in pattern.kinds.items() if kind is Kind.COORDINATE})
    groups = [sorted(group) for group in pattern.together]
    groups += [[name] for name in named if not any(name in group for group in groups)]
    if len(groups) > len(names.cities):
        return None
    chosen = rng.sample(names.cities, len(groups))
    return {name: city for group, city in zip(groups, chosen, strict=True) for name in group}


def _point(variable: str) -> str:
    """Return what both halves of a point have in common."""
    return variable.replace("latitude", "point").replace("longitude", "point")


def nested(given: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return arguments with their lists and objects built from paths: `legs[0].date` → {"legs": [{"date": ...}]}."""
    arguments: dict[str, JsonValue] = {}
    for path, value in given.items():
        put(arguments, path, value)
    return arguments
