"""Gold replayed: what the perfect policy does, through the real session, parser and a world.

`GoldWorld` answers the gold calls of one task with the responses its record stored, so records can be checked, and
rewards tested, without the world they were made in.
"""
from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from BFCL.parse.hermes import parse_turn
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import canonical_key
from environment.core.dispatch import World, answer_call
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.prompt import gold_turns
from environment.session.session import Session

CLOSING = "That is what I found."
"""Said at the end of a task that has no answer of its own."""


class GoldWorld:
    """A world that knows the gold calls of one task and nothing else; the same call always gets the same answer."""

    def __init__(self, task: Task, responses: Sequence[JsonValue], schemas: Mapping[str, ToolSchema]) -> None:
        """Take one response a step; of steps that ask for the very same, the first one's stands."""
        self._schemas = schemas
        self._answers: dict[tuple[str, str], JsonValue] = {}
        for step, response in zip(task.steps, responses, strict=True):
            key = step.function, canonical_key(schemas[step.function], step.arguments)
            self._answers.setdefault(key, response)

    @property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """The tools of this world by name."""
        return self._schemas

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the stored response of a gold call; other calls are misses or wrong."""
        return answer_call(self._schemas, name, arguments, self._look_up)

    def _look_up(self, schema: ToolSchema, arguments: dict[str, JsonValue]) -> WorldAnswer | None:
        key = schema.name, canonical_key(schema, arguments)
        return WorldAnswer(ResultStatus.OK, self._answers[key]) if key in self._answers else None


def play_turns(turns: Sequence[str], task: Task, world: World, limits: Limits | None = None) -> Trajectory:
    """Return the trajectory of a policy that writes these turns, whatever the world answers."""
    session = Session(task, world, world.schemas, limits or uncut(len(turns)), parse_turn)
    return asyncio.run(drive(ScriptPolicy(turns), session))


def replay_gold(task: Task, world: World, limits: Limits | None = None) -> Trajectory:
    """Return the trajectory of the gold chain: one call a turn, then the answer."""
    turns = gold_turns(task)
    return play_turns(turns if task.answer else [*turns, CLOSING], task, world, limits)


def uncut(turns: int) -> Limits:
    """Return limits that such an episode doesn't reach, observations shown whole."""
    room = max(turns, 1)
    return Limits(
        max_turns=room, max_calls=10_000, max_tokens=10**9, max_seconds=None, max_invalid=10_000, parallel_calls=10_000,
        observation_tokens=None,
    )  # fmt: skip
