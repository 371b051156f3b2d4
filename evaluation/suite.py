"""`Suite`: what an evaluation asks, how an episode of it goes, and what came of it.

    items ─► episode(item, seat) ─► Trajectory ─► judge(item, trajectory) ─► Outcome ─► summarise(judged, …)
              driver: the suite      stored, one    pure; never sees what the            plain JSON
              policy: seat.converse  line each      infrastructure failed

A suite says what is asked and what is right. `evaluation.runner` does the rest: how many at once, what is owed after an
interruption, which failures count, where things are written. Adding one takes five steps, in `suites/README.md`.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from environment.core.calls import JsonValue
from environment.core.trajectory import Trajectory
from evaluation.policy.chat import CountingPolicy, Sampling

Case = TypeVar("Case")
"""Whatever a suite needs to know of one item."""
ToolFunctions = list[dict[str, Any]]
"""Tools as OpenAI function objects."""


@dataclass(frozen=True)
class Item(Generic[Case]):
    """One thing a suite asks. The runner reads `id` alone, the summary also `labels`."""

    id: str
    """Unique in the suite; any text, so never made a path."""
    case: Case
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the summary is broken down by: `domain` → `Hotels`, `length` → `5`, `category` → `multi_turn_base`."""


class Outcome(Protocol):
    """What one episode was worth. `Mark` is the plain one; a suite may have a richer one of its own."""

    @property
    def success(self) -> bool:
        """Whether the item counts as solved."""
        ...

    @property
    def fault(self) -> str:
        """The first kind of mistake, `none` for a success."""
        ...

    @property
    def figures(self) -> Mapping[str, float | None]:
        """Further figures by name, of which the summary gives means; None leaves the item out."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        ...


@dataclass(frozen=True)
class Mark:
    """An outcome with figures by name."""

    success: bool
    fault: str = "none"
    figures: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    detail: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Anything a person may want to see beside the episode; plain JSON."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object, the figures at its top."""
        return {"success": self.success, "fault": self.fault, **self.figures, **self.detail}


@dataclass(frozen=True)
class Judged:
    """One episode and what it was worth; `outcome` is None when the infrastructure failed it."""

    item: Item[Any]
    trajectory: Trajectory
    outcome: Outcome | None

    @property
    def sample(self) -> int:
        """0 greedy, 1… sampled."""
        return int(self.trajectory.meta.get("sample", 0))


@dataclass(frozen=True)
class Seat:
    """What the runner lends one episode: the model under test, and how this sample of it is decoded."""

    sample: int
    """0 greedy, 1… sampled."""
    sampling: Sampling
    """How turns are decoded; its seed belongs to this item and sample alone."""
    converse: Callable[[ToolFunctions], CountingPolicy]
    """Begins a conversation with the model, offering it these tools; `policy.tools` may be replaced between turns."""
    count: Callable[[str], int] | None = None
    """Tokens of a text by the model's own tokenizer, None where none is at hand."""


class Suite(ABC, Generic[Case]):
    """A set of items, how they are played and how they are judged."""

    name: str
    """As given on the command line."""
    items: Sequence[Item[Case]]
    """In a fixed order, ids unique."""

    @abstractmethod
    def manifest(self) -> dict[str, Any]:
        """Return what decides the outcome, by content rather than by path: data, rules, limits, versions."""

    @abstractmethod
    async def episode(self, item: Item[Case], seat: Seat) -> Trajectory:
        """Play one item and return all that happened.

        Several user turns, tools that appear later and a world of the item's own are the suite's to do: make the state
        here, so that no two episodes share it. Whatever this raises becomes an infrastructure failure of the episode,
        never a wrong answer; a model's nonsense must therefore end up in the trajectory instead.
        """

    @abstractmethod
    def judge(self, item: Item[Case], trajectory: Trajectory) -> Outcome:
        """Return what an episode was worth; pure, and total over anything a model can write."""

    @abstractmethod
    def summarise(self, judged: Sequence[Judged], samples: int, seed: int) -> dict[str, Any]:
        """Return the summary as plain JSON; `evaluation.tally.summarise` does it for most."""

    def gold(self, item: Item[Case]) -> Sequence[str] | None:
        """Return assistant turns that earn full marks, in order; None where the suite knows none."""
        return None

    def said(self, item: Item[Case]) -> str:
        """Return all that the user says, by which an item is looked for in training rows; empty: it can't be."""
        return ""

    async def review(self, episodes: Iterable[Trajectory], place: Path) -> None:
        """Look at the finished episodes once more before they are judged, e.g. with a model as the judge.

        `place` is the common beginning of this run's files: `place.with_name(place.name + ".answers.jsonl")`.
        """

    def close(self) -> None:
        """Let go of files and connections."""
