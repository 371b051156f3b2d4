"""The types of a workflow template: `Pattern`, its `Step`s and where their arguments come from."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

_SELECTOR = re.compile(r"\[(?:(\w+)=)?@(\w+)\]")


class Rule(StrEnum):
    """How the user names one item of a list; the query says it in words."""

    FIRST = "first"
    SECOND = "second"
    THIRD = "third"
    FOURTH = "fourth"
    FIFTH = "fifth"
    CHEAPEST = "cheapest"
    """The item whose price is lowest, and lower than any other the model can see."""
    BEST_RATED = "best_rated"
    """The item whose score is highest, and higher than any other the model can see."""


COUNTED = (Rule.FIRST, Rule.SECOND, Rule.THIRD, Rule.FOURTH, Rule.FIFTH)
"""Rules that count, in order: the first three items are those of the first three rules."""


class Kind(StrEnum):
    """What a value means to a person; the writer and the checks have one set of words for each."""

    PLACE = "place"
    """A city, or whatever else the service takes for one."""
    SPOT = "spot"
    """A thing with a name of its own: a hotel, an airport, a station, an attraction."""
    DATE = "date"
    TIME = "time"
    COUNT = "count"
    CHOICE = "choice"
    """One of a few words of the service, said in plain words."""
    AGES = "ages"
    """Ages of children, separated by commas."""
    MONEY = "money"
    COORDINATE = "coordinate"
    """Degrees the user gives himself, such as those his telephone shows."""


NAMES = frozenset({Kind.PLACE, Kind.SPOT})
"""Kinds of value that name an entity; the split keeps entities apart."""


@dataclass(frozen=True)
class FromUser:
    """The value of a shared variable, which the query must state unless it is unset."""

    variable: str
    optional: bool = False
    """True: the call may leave the argument out, and the query then says nothing of it."""


@dataclass(frozen=True)
class FromStep:
    """A field of an earlier response."""

    step: str
    """Name of the producing step."""
    field: str
    """Path into its response. `[@pick]` stands for the item that the rule of variable `pick` names, `[title=@pick]`
    for the one whose `title` is what the user calls it."""

    @cached_property
    def _selector(self) -> re.Match[str] | None:
        return _SELECTOR.search(self.field)

    @property
    def pick(self) -> str | None:
        """The variable that says which item, or None where the path is fixed."""
        return self._selector[2] if self._selector else None

    @property
    def key(self) -> str | None:
        """The field by which an item is called by name, or None where a rule picks it."""
        return self._selector[1] if self._selector else None

    @property
    def list_path(self) -> str:
        """The path of the list that is picked from; the whole path where it is fixed."""
        return self.field[: self._selector.start()] if self._selector else self.field

    def at(self, number: int) -> str:
        """Return the path with item `number` in place of the pick."""
        return _SELECTOR.sub(f"[{number}]", self.field)


Source = FromUser | FromStep
Pick = Rule | str
"""How an item is named: by a rule, or by its own name."""


@dataclass(frozen=True)
class Speech:
    """How the requests that are put together call what a tool gives; all texts in the writer's grammar."""

    want: str = ""
    """What the user asks for. Slots are arguments of the tool, `place:argument`, or composites of the composer."""
    noun: str = ""
    """What an item of its list is called."""
    silent: bool = False
    """True: a look-up, not asked for where a later step uses it."""
    near: str = "at"
    """Preposition before a place that is no city."""
    of: str = ""
    """The argument that says whose page it is; empty for a search."""
    link: str = "of"
    """Preposition between a page and whose it is."""
    which: str = ""
    """Tells one list from another with the same noun."""
    means: Mapping[str, str] = field(default_factory=dict[str, str])
    """Generic path of a name in its answer → what a person calls it, with the slots of `want`."""


@dataclass(frozen=True)
class Step:
    """One call of a pattern."""

    name: str
    tool: str
    give: Mapping[str, Source]
    """Argument → where its value comes from. An argument that isn't listed is never given."""
    ranks: Mapping[Rule, str] = field(default_factory=dict[Rule, str])
    """For picks by comparison: the path, inside an item of this step's list, of the number to compare."""
    where: Mapping[str, str] = field(default_factory=dict[str, str])
    """Path → text the response must hold there for an entry to be used; `$name` stands for what the user calls it, a
    `!` before it for anything but that."""
    answer: tuple[str, ...] = ()
    """Closing sentences with `{path}` into what the model saw of this step; the first that can be filled is used."""

    gives: Mapping[str, str] = field(default_factory=dict[str, str])
    """Response path → port, beyond what the schema says: what `where` makes of a field."""
    speech: Speech = Speech()

    @cached_property
    def asked(self) -> tuple[tuple[str, FromUser], ...]:
        """The arguments the user gives, with their sources."""
        return tuple((argument, source) for argument, source in self.give.items() if isinstance(source, FromUser))

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arguments the step gives, each once: `legs` for `legs[0].fromId` and `legs[0].toId`."""
        return tuple(dict.fromkeys(re.split(r"[.\[]", path)[0] for path in self.give))

    @cached_property
    def producers(self) -> frozenset[str]:
        """Names of the steps it takes values from."""
        return frozenset(source.step for source in self.give.values() if isinstance(source, FromStep))

    @cached_property
    def variables(self) -> frozenset[str]:
        """Variables it takes from the user."""
        return frozenset(source.variable for source in self.give.values() if isinstance(source, FromUser))

    @cached_property
    def calls(self) -> str:
        """Text that is equal for steps that can use the same recorded calls."""
        return f"{self.tool} {sorted(self.give)} {sorted(self.where.items())} {self._user_arguments()}"

    def _user_arguments(self) -> list[tuple[str, str]]:
        named = [(argument, source) for argument, source in self.give.items() if isinstance(source, FromUser)]
        return sorted((argument, source.variable) for argument, source in named) if self.where else []


@dataclass(frozen=True)
class Pattern:
    """One workflow: its calls, and the ways of asking for exactly these calls."""

    id: str
    domain: str
    steps: tuple[Step, ...]
    kinds: Mapping[str, Kind]
    """Variable → what its value means."""
    picks: Mapping[str, tuple[Pick, ...]]
    """Pick variable → the rules it may take; none where the item is called by its name (`search.narrow` finds them)."""
    say: tuple[str, ...]
    """Sentences in the writer's grammar; none where the request is put together from the steps' speech."""
    phrases: Mapping[str, str]
    """Named parts of sentences."""
    weight: float = 1.0
    """Share of the pattern among those of its length."""
    together: tuple[frozenset[str], ...] = ()
    """Variables that name things of one place; all others name things of different places."""
    after: Mapping[str, str] = field(default_factory=dict[str, str])
    """Date variable → the date variable it lies after."""

    @property
    def width(self) -> int:
        """Most steps of one level: what a model that calls in parallel may call at once."""
        return max(map(len, self.levels))

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Step name → its number."""
        return {step.name: number for number, step in enumerate(self.steps)}

    @cached_property
    def _touched(self) -> dict[tuple[int, frozenset[str]], tuple[Step, ...]]:
        return {}

    def touched(self, number: int, variables: frozenset[str]) -> tuple[Step, ...]:
        """Return the steps after `number` that take a value of it or one of the variables."""
        if (number, variables) not in self._touched:
            name = self.steps[number].name
            later = self.steps[number + 1 :]
            found = [s for s in later if name in s.producers or variables & s.variables]
            self._touched[number, variables] = tuple(found)
        return self._touched[number, variables]

    @cached_property
    def levels(self) -> tuple[tuple[Step, ...], ...]:
        """The steps by level: those of one level need nothing of each other and may run in parallel."""
        depth: dict[str, int] = {}
        for step in self.steps:
            depth[step.name] = 1 + max((depth[name] for name in step.producers), default=-1)
        return tuple(
            tuple(step for step in self.steps if depth[step.name] == level) for level in range(max(depth.values()) + 1)
        )

    def step(self, name: str) -> Step:
        """Return the step of that name."""
        return next(step for step in self.steps if step.name == name)

    def sources(self) -> Iterator[tuple[Step, str, Source]]:
        """Yield (step, argument, source) for every argument of the pattern."""
        for step in self.steps:
            for argument, source in step.give.items():
                yield step, argument, source
