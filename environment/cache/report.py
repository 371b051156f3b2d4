"""`BuildReport`: what came of writing a recorded world."""
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from environment.core.calls import JsonValue


@dataclass(frozen=True)
class Conflict:
    """Two different answers were recorded for one call; the first was kept."""

    tool: str
    arguments: dict[str, JsonValue]
    kept: str
    """Provenance of the answer that was kept."""
    refused: str
    """Provenance of the one that was not."""


@dataclass(frozen=True)
class BuildReport:
    """Counts and complaints of one build."""

    path: Path
    entries: int
    """Entries in the file, all tools together."""
    by_tool: dict[str, int]
    content_hash: str
    duplicates: int = 0
    """Answers that were recorded already, word for word."""
    conflicts: tuple[Conflict, ...] = ()
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    """Reason → number of records left out."""
    seconds: float = 0.0
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """Reason → the first place where something was left out or odd for it."""
    odd: dict[str, int] = field(default_factory=dict[str, int])
    """Reason → number of answers that were kept though they do not have the shape that their tool states."""
