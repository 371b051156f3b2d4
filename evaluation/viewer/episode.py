"""Everything a page says of one episode, worked out: judged calls, argument diffs, origins of values, its reward."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from BFCL.check.match import Match, match
from environment.core.calls import ToolResult
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason, Trajectory
from evaluation.judge import Verdict, judge
from evaluation.mistakes import Mistake, mistakes
from evaluation.viewer.diff import ArgumentDiff, differences
from evaluation.viewer.origins import Origin, origins


@dataclass(frozen=True)
class Episode:
    """One trajectory and what is known of it."""

    trajectory: Trajectory
    task: Task | None = None
    """None where the gold chain is not at hand."""
    match: Match | None = None
    verdict: Verdict | None = None
    """None without a task, and for failures of the infrastructure."""
    mistakes: tuple[Mistake, ...] = ()
    diffs: Mapping[int, tuple[ArgumentDiff, ...]] = field(default_factory=dict[int, tuple[ArgumentDiff, ...]])
    """Position of a matched call → its arguments beside the wanted ones."""
    step_of: Mapping[int, int] = field(default_factory=dict[int, int])
    """Position of a matched call → its gold step."""
    origins: Mapping[int, Sequence[Origin]] = field(default_factory=dict[int, Sequence[Origin]])
    """Position of a call → where its values came from."""
    uses: Mapping[int, Sequence[Origin]] = field(default_factory=dict[int, Sequence[Origin]])
    """Position of a call → values of its result that later calls took."""

    @property
    def results(self) -> dict[str, ToolResult]:
        """Results by the id of their call."""
        return {result.call_id: result for result in self.trajectory.results}

    @property
    def reward(self) -> dict[str, Any]:
        """The recorded reward, part by part; empty where none was recorded."""
        recorded = self.trajectory.meta.get("reward")
        return dict(recorded) if isinstance(recorded, dict) else {} if recorded is None else {"score": recorded}


def make_episode(trajectory: Trajectory, task: Task | None, schemas: Mapping[str, ToolSchema]) -> Episode:
    """Return what is known of a trajectory; without a task, only where its values came from."""
    lost = trajectory.stop == StopReason.INFRASTRUCTURE
    found = None if task is None else match(trajectory, task, schemas)
    step_of = {} if found is None else {s.call: s.step for s in found.steps if s.call is not None}
    traced = origins(trajectory, task, found)
    return Episode(
        trajectory=trajectory,
        task=task,
        match=found,
        verdict=None if task is None or lost else judge(trajectory, task, schemas),
        mistakes=() if task is None else mistakes(trajectory, task, schemas),
        diffs={} if task is None else _diffs(trajectory, task, step_of, schemas),
        step_of=step_of,
        origins=_grouped(traced, [origin.call for origin in traced]),
        uses=_grouped(traced, [origin.producer for origin in traced]),
    )


def _diffs(
    trajectory: Trajectory, task: Task, step_of: Mapping[int, int], schemas: Mapping[str, ToolSchema]
) -> dict[int, tuple[ArgumentDiff, ...]]:
    return {
        position: differences(task.steps[step], call, schemas.get(call.name))
        for position, step in step_of.items()
        if (call := trajectory.calls[position])
    }


def _grouped(traced: Sequence[Origin], keys: Sequence[int | None]) -> dict[int, list[Origin]]:
    found: defaultdict[int, list[Origin]] = defaultdict(list)
    for origin, key in zip(traced, keys, strict=True):
        if key is not None:
            found[key].append(origin)
    return dict(found)
