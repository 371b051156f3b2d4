"""`metrics.jsonl`: one line a finished step, in order, each exactly once, whenever the run was killed.

verl saves a step's checkpoint before it computes the step's metrics. So the line is noted beside the file before the
checkpoint (`note`), replaced by the full one afterwards (`append`), and a resume puts both right (`settle`): lines of
steps the checkpoint does not know are dropped, for those steps run again, and a noted line that it does know is kept.
"""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from training.verl_plugin.step_metrics import written_step


class StepFile:
    """The metrics file of a run."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "metrics.jsonl"
        self._noted = folder / "metrics.next.json"

    def note(self, row: dict[str, Any]) -> None:
        """Write a step's line down, before its checkpoint is saved."""
        half = self._noted.with_suffix(".part")
        half.write_text(json.dumps(row) + "\n", encoding="utf-8")
        half.replace(self._noted)

    def append(self, row: dict[str, Any]) -> None:
        """Append a step's full line; the noted one is done with."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        self._noted.unlink(missing_ok=True)

    def settle(self, step: int) -> None:
        """Make the file say what a checkpoint of `step` steps says (0 where there is none)."""
        lines = [line for line in _lines(self.path) if written_step(line) <= step]
        done = {written_step(line) for line in lines}
        lines += [line for line in _lines(self._noted) if written_step(line) <= step and written_step(line) not in done]
        if lines or self.path.exists():
            half = self.path.with_suffix(".part")
            half.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            half.replace(self.path)
        self._noted.unlink(missing_ok=True)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
