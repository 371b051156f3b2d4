"""Running the stages: in order, each once, each as a process, continuing where an earlier try ended."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType

from environment.core.errors import StageError
from training.launch.display import Display
from training.launch.follow import Progress, Tail, read_progress
from training.launch.paths import RunPaths
from training.launch.process import Child, end_marked
from training.launch.resolve import REPO_ROOT
from training.launch.stages import Stage
from training.launch.stamps import Stamps

TAIL_LINES = 15
"""Last lines of a failed stage's log that the error shows."""
POLL_S = 0.1


class Interrupted(StageError):
    """A signal asked the run to end. The exit status is 128 + signal, as a shell expects."""

    def __init__(self, signum: int, stage: str, resume: str) -> None:
        self.signum = signum
        self.exit_status = 128 + signum
        name = signal.Signals(signum).name
        what = f"{name}: stopped in stage {stage}; nothing is lost"
        super().__init__(what, where="run", fix=f"continue with: {resume}")


class Runner:
    """Runs stages of one run directory, whose lock the caller holds."""

    def __init__(
        self,
        paths: RunPaths,
        stamps: Stamps,
        display: Display,
        *,
        command: Callable[[Stage], Sequence[str]] | None = None,
        environ: Mapping[str, str] | None = None,
        resume: str = "the same command",
        grace_s: float = 20.0,
    ) -> None:
        self.paths, self.stamps, self.display = paths, stamps, display
        self._command = command or self._worker_command
        self._environ = _importable(dict(os.environ if environ is None else environ))
        self._resume, self._grace_s = resume, grace_s
        self._signals: list[int] = []

    def run(self, stages: Sequence[Stage]) -> list[str]:
        """Run what is not done and return the names of the stages that ran.

        Raises:
            StageError: a stage failed; earlier ones stay done.
            Interrupted: SIGINT, SIGTERM or SIGHUP came.
        """
        leftover = end_marked(self.paths.root)
        if leftover:
            self.display.say(f"ended {leftover} process(es) that an interrupted run had left behind", "yellow")
        ran: list[str] = []
        with self._listening():
            for number, stage in enumerate(stages, 1):
                if self.stamps.state(stage) == "done":
                    self.display.say(f"[{number}/{len(stages)}] {stage.name}  done before", "dim")
                    continue
                self._prepare(stage)
                self.display.stage_started(stage.name, stage.does, number, len(stages), self.paths.log(stage.name))
                self._run_one(stage)
                ran.append(stage.name)
        return ran

    def _prepare(self, stage: Stage) -> None:
        """Set aside what an earlier try with other inputs left; it would be continued from wrongly."""
        begun = self.stamps.begun(stage)
        if begun is not None and begun != self.stamps.key(stage):
            for path in (path for path in stage.partial if path.exists()):
                old = _aside(self.paths.root / "old" / path.name)
                old.parent.mkdir(parents=True, exist_ok=True)
                path.rename(old)
                self.display.say(f"      inputs changed: {path.name} set aside as {old}", "yellow")
        self.stamps.forget(stage)
        self.stamps.begin(stage)

    def _run_one(self, stage: Stage) -> None:
        log = self.paths.log(stage.name)
        _append(log, f"--- {datetime.now().isoformat(timespec='seconds')} {stage.name}\n")
        began = time.monotonic()
        child = Child(self._command(stage), self._environ, self.paths.root, log)
        outcome, status = "failed", None
        try:
            status = self._watch(stage, child)
            outcome = "done" if status == 0 else "failed"
        except Interrupted:
            outcome = "interrupted"
            raise
        finally:
            child.close()
            wall = time.monotonic() - began
            record = {"stage": stage.name, "wall_s": round(wall, 2), "outcome": outcome, "status": status}
            _append(self.paths.attempts, json.dumps(record) + "\n")
            missing = self.stamps.finish(stage, wall) if outcome == "done" else []
            outcome = "failed" if missing else outcome
            self.display.stage_ended(stage.name, outcome)
        if status != 0 or missing:
            raise self._failure(stage, status, missing)

    def _watch(self, stage: Stage, child: Child) -> int:
        curve = Tail(stage.curve, from_end=True) if stage.curve else None
        while True:
            status = child.poll()
            while not child.lines.empty():
                progress = read_progress(child.lines.get())
                if progress is not None:
                    self.display.progress(progress)
            for row in curve.rows() if curve else ():
                self._show(stage, row)
            if status is not None:
                return status
            if self._signals:
                child.stop(self._signals[0], self._grace_s, hurry=lambda: len(self._signals) > 1)
                raise Interrupted(self._signals[0], stage.name, self._resume)
            self.display.tick()
            time.sleep(POLL_S)

    def _show(self, stage: Stage, row: Mapping[str, object]) -> None:
        """Show one row of the stage's curve: training steps as lines of their own, others as progress."""
        step = row.get("step")
        if "reward" in row:
            self.display.step(row)
        if stage.steps and isinstance(step, int):
            self.display.progress(Progress(step, stage.steps, "steps"))

    def _failure(self, stage: Stage, status: int | None, missing: Sequence[Path]) -> StageError:
        log = self.paths.log(stage.name)
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        why = f"left no {', '.join(path.name for path in missing)}" if missing else f"ended with status {status}"
        shown = "\n".join(f"  | {line[:200]}" for line in lines[-TAIL_LINES:])
        error = StageError(
            f"stage {stage.name} {why}\n{shown}",
            where="run",
            fix=f"read {log}; then {self._resume} continues from here",
        )
        error.exit_status = 2 if status == 2 else 1
        return error

    def _worker_command(self, stage: Stage) -> list[str]:
        return [sys.executable, "-P", "-m", "scripts.cli", *stage.verb, "--run-dir", str(self.paths.root), "--worker"]

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Note signals instead of dying of them, and put the old handlers back."""

        def note(signum: int, _frame: FrameType | None) -> None:
            self._signals.append(signum)

        wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {signum: signal.signal(signum, note) for signum in wanted}
        try:
            yield
        finally:
            for signum, handler in before.items():
                signal.signal(signum, handler)


def _importable(environ: dict[str, str]) -> dict[str, str]:
    """Put this checkout first on a child's path, whatever else is called `scripts` in its packages."""
    others = [part for part in environ.get("PYTHONPATH", "").split(os.pathsep) if part and part != str(REPO_ROOT)]
    return {**environ, "PYTHONPATH": os.pathsep.join([str(REPO_ROOT), *others])}


def _append(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _aside(path: Path) -> Path:
    number = 1
    while (place := path.with_name(f"{path.name}-{number}")).exists():
        number += 1
    return place
