"""Run a model on held-out tasks against the recorded world: the main job's door to `runner` and the held-out suite.

    run(HeldoutSettings(name="sft", rows=…, world=…, out=run / "eval", model=folder), reward=score)

writes OUT/NAME.json (the summary), OUT/NAME.trajectories.jsonl and OUT/NAME.settings.json. Started again, it repeats
only what is missing; where nothing is missing it starts no server at all.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environment.session.limits import Limits
from evaluation import runner
from evaluation.judge import Reward
from evaluation.runner import Place, Progress
from evaluation.settings import RunSettings
from evaluation.suites.heldout import HeldoutSuite, Options


@dataclass(frozen=True)
class HeldoutSettings(RunSettings):
    """What is evaluated, on what, and how. Either `model` or `base_url` with `model_name` must be given."""

    name: str
    """Of the results: `base`, `sft`, `rl`."""
    rows: Path
    """Parquet as `preprocess` writes it, or JSON Lines of tasks."""
    world: Path
    """The recorded world."""
    out: Path
    """Folder of the results, usually RUN/eval."""
    schemas: Path | None = None
    """Tool schemas; None: the project's own."""
    limits: Limits = field(default_factory=Limits)
    limit: int | None = None
    """Only the first so many tasks."""
    instructions: str | None = None
    """Replaces the system prompt."""

    @property
    def where(self) -> str:
        """What errors call these settings."""
        return "heldout"

    def options(self) -> Options:
        """Return what the suite is opened with."""
        return Options(
            data=self.rows, world=self.world, schemas=self.schemas, limit=self.limit, limits=self.limits,
            instructions=self.instructions,
        )  # fmt: skip


def run(settings: HeldoutSettings, *, reward: Reward | None = None, progress: Progress | None = None) -> dict[str, Any]:
    """Evaluate and return the summary, which is also written to OUT/NAME.json.

    Raises StageError when the endpoint is gone for good, and ConfigError when OUT/NAME was begun with other settings.
    """
    suite = HeldoutSuite(settings.options(), reward)
    try:
        manifest = {**suite.manifest(), **settings.manifest()}
        return runner.run(suite, settings, Place(settings.out, settings.name), manifest, progress=progress)
    finally:
        suite.close()
