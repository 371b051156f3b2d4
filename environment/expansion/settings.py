"""What an expansion does: which world, which chains, how far, whom it asks."""
from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path

from environment.core.errors import ConfigError
from environment.expansion.expander import ExpansionSizes
from environment.upstream.kinds import UpstreamKind
from environment.upstream.modes import UpstreamSettings


class ExpandMode(StrEnum):
    """What is walked."""

    INDEPENDENT = "independent"
    """Single tools, each with the shortest chain of look-ups that gives it its ids."""
    WORKFLOW = "workflow"
    """Whole workflows."""


@dataclass(frozen=True)
class ExpandSettings:
    """All settings of an expansion."""

    world: Path
    mode: ExpandMode = ExpandMode.WORKFLOW
    functions: tuple[str, ...] = ()
    """Tools of the independent mode; none means every tool."""
    workflows: tuple[str, ...] = ("all",)
    excluded: tuple[str, ...] = ()
    templates: Path | None = None
    """The reference's workflow templates; without them the workflows follow from the ports of the tools."""
    schemas: Path | None = None
    sizes: ExpansionSizes = field(default_factory=ExpansionSizes)
    workers: int = 10
    """Requests at once."""
    workflow_workers: int = 3
    """Workflows at once."""
    seed: int = 0
    first_date: date | None = None
    """First date that calls are made for; None chooses one that the upstream knows."""
    model: str | None = None
    """Language model that thinks of argument values; None draws them."""
    model_address: str | None = None
    upstream: UpstreamSettings = field(default_factory=lambda: UpstreamSettings(UpstreamKind.RAPIDAPI))
    summary: Path | None = None
    """Where the summary goes; None is beside the world."""

    def __post_init__(self) -> None:
        numbers = {
            "--max-workers": self.workers, "--workflow-workers": self.workflow_workers,
            "--batch-size-step0": self.sizes.first, "--batch-size-dependent": self.sizes.dependent,
            "--max-branches-per-step": self.sizes.branches,
        }  # fmt: skip
        for name, number in numbers.items():
            if number < 1:
                raise ConfigError("out of range", where=name, got=number, expected="1 or more")
        if self.world.suffix == ".json":
            fix = f"tool-rl world import {self.world.with_suffix('.db')} {self.world}, then expand that"
            raise ConfigError("a world is a .db file", where="--cache-path", got=str(self.world), fix=fix)
        if self.world.is_dir():
            raise ConfigError("a folder, not a world", where="--cache-path", got=str(self.world))
