"""The held-out suite: tasks of a recorded world, one user turn each, judged by the gold chain. The main job's."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from BFCL.parse.hermes import parse_turn
from environment.booking.schemas import load_schemas
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from environment.server.opening import open_world
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import gold_turns, tool_functions
from environment.session.session import Session
from evaluation import tally
from evaluation.judge import Reward, Verdict, verdict_of
from evaluation.rows import read_tasks
from evaluation.settings import file_digest
from evaluation.suite import Item, Judged, Seat, Suite
from evaluation.summary import FIGURES, task_item


class Options(BaseModel):
    """What the suite is opened with."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    data: Path
    """Parquet as `preprocess` writes it, or JSON Lines of tasks."""
    world: Path
    """The recorded world."""
    schemas: Path | None = None
    """Tool schemas; None: the project's own."""
    limit: int | None = None
    """Only the first so many tasks."""
    limits: Limits = Limits()
    instructions: str | None = None
    """Replaces the system prompt."""


class HeldoutSuite(Suite[Task]):
    """Held-out tasks of a world."""

    name = "heldout"

    def __init__(self, options: Options, reward: Reward | None = None) -> None:
        """Open the world and read the tasks.

        Args:
            options: what is evaluated.
            reward: scores a trajectory besides the verdict; injected, as rewards live in training.
        """
        self.options = options
        self.items: Sequence[Item[Task]] = [task_item(t) for t in read_tasks(options.data, options.limit)]
        self._schemas = load_schemas(options.schemas)
        self._reward = reward
        self.world = open_world(options.world, self._schemas)

    def manifest(self) -> dict[str, Any]:
        """Return rows, world, schemas and limits, by content."""
        options = self.options
        return {
            "rows": file_digest(options.data),
            "world": self.world.content_hash,
            "schemas": file_digest(options.schemas) if options.schemas else "own",
            "limits": asdict(options.limits),
            "limit": options.limit,
            "instructions": options.instructions,
        }

    async def episode(self, item: Item[Task], seat: Seat) -> Trajectory:
        """Play one task as training does."""
        policy = seat.converse(tool_functions(item.case, self._schemas))
        session = Session(
            item.case, self.world, self._schemas, self.options.limits, parse_turn, seat.sampling.seed,
            count=seat.count, instructions=self.options.instructions,
        )  # fmt: skip
        return await drive(policy, session)

    def judge(self, item: Item[Task], trajectory: Trajectory) -> Verdict:
        """Lay an episode beside the task's gold chain."""
        return verdict_of(trajectory, item.case, self._schemas, self._reward)

    def summarise(self, judged: Sequence[Judged], samples: int, seed: int) -> dict[str, Any]:
        """Return figures, breakdowns by pattern and length, and a line a task."""
        return tally.summarise(self.items, judged, FIGURES, samples, seed)

    def gold(self, item: Item[Task]) -> Sequence[str]:
        """Return the gold chain, one call a turn, and a closing answer."""
        turns = gold_turns(item.case)
        return turns if item.case.answer else [*turns, "Done."]

    def said(self, item: Item[Task]) -> str:
        """Return the request."""
        return item.case.query

    def close(self) -> None:
        """Close the world."""
        self.world.close()


def open_suite(options: Options) -> HeldoutSuite:
    """Return the suite; the registry calls this."""
    return HeldoutSuite(options)
