"""Scripted models for the suite's episodes, and rows in hand."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from environment.core.trajectory import Trajectory
from environment.session.turns import AssistantTurn
from evaluation.policy.chat import Sampling, Usage
from evaluation.suite import Item, Seat, ToolFunctions
from evaluation.suites.bfcl.suite import BfclSuite, Options


def row_of(item: Item[Any]) -> Any:
    """Return the row of an item; of which kind it is, the test knows."""
    return item.case


@dataclass
class Scripted:
    """Writes given turns and remembers what it was told and offered each time; after the last it has nothing to say."""

    tools: ToolFunctions
    turns: Iterator[str | AssistantTurn]
    usage: Usage = field(default_factory=Usage)
    told: list[list[dict[str, Any]]] = field(default_factory=list[list[dict[str, Any]]])
    offered: list[set[str]] = field(default_factory=list[set[str]])

    async def act(self, new_messages: list[dict[str, Any]]) -> AssistantTurn:
        """Return the next turn."""
        self.told.append(list(new_messages))
        self.offered.append({tool["function"]["name"] for tool in self.tools})
        turn = next(self.turns, "")
        return turn if isinstance(turn, AssistantTurn) else AssistantTurn(turn, len(turn))


def suite_of(categories: str = "multi_turn_base", limit: int = 3, **more: Any) -> BfclSuite:
    """Return the suite with a few rows."""
    return BfclSuite(Options(categories=categories, limit=limit, **more))  # type: ignore[arg-type]


def played(suite: BfclSuite, item: Item[Any], turns: Iterable[str | AssistantTurn]) -> tuple[Trajectory, Scripted]:
    """Return an episode of a script, and the script as it was left."""
    models: list[Scripted] = []

    def converse(tools: ToolFunctions) -> Scripted:
        models.append(Scripted(tools, iter(turns)))
        return models[-1]

    trajectory = asyncio.run(suite.episode(item, Seat(0, Sampling(), converse)))
    return trajectory, models[0]


def for_ever(text: str) -> Iterator[str]:
    """Yield the same turn again and again."""
    return itertools.repeat(text)
