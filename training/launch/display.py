"""What a person sees while the main job runs: stages with time, a line per training step, the table at the end.

On a terminal a line at the bottom shows the running stage's progress; elsewhere (a pipe, CI) plain
lines come at most every few seconds. Worker chatter goes to log files only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from training.launch.follow import Progress, step_line

PLAIN_EVERY_S = 15.0
"""Seconds between two progress lines where there is no terminal."""


class Display:
    """Terminal of one run."""

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console or Console(highlight=False, soft_wrap=True)
        self._clock = clock
        self._began = clock()
        self._stage_began = clock()
        self._progress: Progress | None = None
        self._resumed_at: tuple[float, float] | None = None
        self._title = ""
        self._last_plain = clock()
        self._live: Live | None = None

    def say(self, text: str, style: str = "") -> None:
        """Write a line above the progress."""
        self.console.print(Text(text, style=style))

    def stage_started(self, name: str, does: str, number: int, total: int, log: Path) -> None:
        """Show that a stage begins and where its log lies."""
        self._title, self._progress, self._resumed_at = f"[{number}/{total}] {name}", None, None
        self._stage_began = self._last_plain = self._clock()
        self.say(f"{self._title}  {does}", "bold")
        self.say(f"      log {log}", "dim")
        if self.console.is_terminal:
            self._live = Live(self._line(), console=self.console, refresh_per_second=2, transient=True)
            self._live.start()

    def progress(self, progress: Progress) -> None:
        """Take note of how far the running stage is."""
        if self._resumed_at is None:
            self._resumed_at = (self._clock(), progress.done)
        self._progress = progress
        self.tick()

    def step(self, row: Mapping[str, object]) -> None:
        """Write one training step."""
        self.say(f"      {step_line(row)}")
        notes = row.get("notes")
        for note in notes if isinstance(notes, list) else []:
            self.say(f"      note: {note}", "yellow")
        self._last_plain = self._clock()

    def tick(self) -> None:
        """Refresh the line at the bottom, or write a plain one when it is time."""
        if self._live is not None:
            self._live.update(self._line())
        elif self._progress is not None and self._clock() - self._last_plain >= PLAIN_EVERY_S:
            self._last_plain = self._clock()
            self.say(f"      {self._line().plain}")

    def stage_ended(self, name: str, outcome: str) -> None:
        """Show how a stage ended."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        spent = self._clock() - self._stage_began
        style = "green" if outcome == "done" else "red"
        self.say(f"      {name} {outcome} in {duration(spent)}  (total {duration(self._clock() - self._began)})", style)

    def time_left(self) -> float | None:
        """Return the seconds the running stage still needs, from its own pace; None while unknown."""
        if self._progress is None or self._resumed_at is None:
            return None
        since, at = self._resumed_at
        gained = self._progress.done - at
        if gained <= 0:
            return None
        return max(0.0, (self._clock() - since) / gained * (self._progress.total - self._progress.done))

    def _line(self) -> Text:
        parts = [self._title, duration(self._clock() - self._stage_began)]
        if self._progress is not None:
            done, total = self._progress.done, self._progress.total
            share = done / total if total else 0.0
            parts += [bar(share), f"{done:g}/{total:g}", self._progress.note]
            left = self.time_left()
            parts += [f"about {duration(left)} left"] if left is not None else []
        return Text("  ".join(part for part in parts if part), style="cyan")


def duration(seconds: float) -> str:
    """Return a time span as people say it: 8.1 s, 3 min 05 s, 2 h 10 min."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def bar(share: float, width: int = 20) -> str:
    """Return a bar of `width` cells filled to a share between 0 and 1."""
    filled = round(max(0.0, min(1.0, share)) * width)
    return "█" * filled + "░" * (width - filled)
