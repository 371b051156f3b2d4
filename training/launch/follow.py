"""Following what a stage says while it runs: its progress lines, and the training curve as it grows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast


@dataclass(frozen=True)
class Progress:
    """How far a stage is: `done` of `total`, and a few words."""

    done: float
    total: float
    note: str = ""


def read_progress(line: str) -> Progress | None:
    """Return the progress a line of stage output announces, or None for any other line.

    A progress line is one JSON object: {"progress": [3, 10], "note": "rows"}.
    """
    if not line.startswith("{") or '"progress"' not in line:
        return None
    try:
        value = json.loads(line)
        done, total = value["progress"]
        return Progress(float(done), float(total), str(value.get("note", "")))
    except (ValueError, TypeError, KeyError):
        return None


class Tail:
    """New complete lines of a growing JSON-lines file; a file that shrinks is read from its start."""

    def __init__(self, path: Path, *, from_end: bool = False) -> None:
        self._path = path
        self._offset = path.stat().st_size if from_end and path.exists() else 0

    def rows(self) -> list[dict[str, object]]:
        """Return the rows added since the last call; damaged lines are left out."""
        try:
            size = self._path.stat().st_size
            self._offset = self._offset if size >= self._offset else 0
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read()
        except OSError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [row for row in map(_row, whole.splitlines()) if row is not None]


def last_rows(path: Path) -> list[dict[str, object]]:
    """Return the training curve, one row a step, later rows of a step replacing earlier ones, by step."""
    rows = {row["step"]: row for row in Tail(path).rows() if isinstance(row.get("step"), int)}
    return [rows[step] for step in sorted(rows, key=lambda step: cast("int", step))]


def step_line(row: Mapping[str, object]) -> str:
    """Return one training step as a line for people."""
    parts = [f"step {row.get('step', '?'):>4}"]
    columns = (
        ("reward", "reward", "{:.3f}"),
        ("success", "success", "{:.0%}"),
        ("turns", "turns", "{:.1f}"),
        ("call_valid", "valid calls", "{:.0%}"),
        ("kl", "KL", "{:.4f}"),
        ("tokens_per_s", "tok/s", "{:.0f}"),
        ("step_s", "", "{:.1f} s"),
    )
    for key, label, form in columns:
        value = row.get(key)
        text = form.format(value) if isinstance(value, (int, float)) else "–"
        parts.append(f"{label} {text}".strip())
    return "  ".join(parts)


def _row(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
