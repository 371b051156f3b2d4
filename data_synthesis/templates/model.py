"""The types of a workflow template: `Pattern`, its `Step`s and where their arguments come from."""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property


class Rule(StrEnum):
    """How the user names one item of a list; the query says it in words."""

    FIRST = "first"
    SECOND = "second"
    THIRD = "third"
    CHEAPEST = "cheapest"
    """The item whose price is lowest, and lower than any other the model can see."""
    BEST_RATED = "best_rated"
    """The item whose score is highest, and higher than any other the model can see."""


class Kind(StrEnum):
    """What a value means to a person; the writer and the checks have one set of words for each."""

    PLACE = "place"
    DATE = "date"
    TIME = "time"
    COUNT = "count"
    CHOICE = "choice"
    """One of a few words of the service, said in plain words."""
    AGES = "ages"
    """Ages of children, separated by commas."""
    MONEY = "money"


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
    """Path into its response; `[@pick]` stands for the item that the rule of variable `pick` names."""

    @property
    def pick(self) -> str | None:
        """The variable that holds the picking rule, or None where the path is fixed."""
        return self.field.partition("[@")[2].partition("]")[0] or None


Source = FromUser | FromStep


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
    """Path → text the response must hold there for an entry to be used; `$name` stands for what the user calls it."""
    answer: tuple[str, ...] = ()
    """Closing sentences with `{path}` into what the model saw of this step; the first that can be filled is used."""

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
    picks: Mapping[str, tuple[Rule, ...]]
    """Pick variable → the rules it may take."""
    say: tuple[str, ...]
    """Sentences in the writer's grammar."""
    phrases: Mapping[str, str]
    """Named parts of sentences."""
    weight: float = 1.0
    """Share of the pattern among those of its length."""

    def step(self, name: str) -> Step:
        """Return the step of that name."""
        return next(step for step in self.steps if step.name == name)

    def sources(self) -> Iterator[tuple[Step, str, Source]]:
        """Yield (step, argument, source) for every argument of the pattern."""
        for step in self.steps:
            for argument, source in step.give.items():
                yield step, argument, source
