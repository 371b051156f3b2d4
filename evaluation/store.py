"""`TrajectoryStore`: finished trajectories of one evaluation, one JSON object a line, safe to interrupt at any byte.

    DIR/NAME.settings.json        what the trajectories were made with; other settings are refused
    DIR/NAME.trajectories.jsonl   a trajectory a line, `meta.sample` says which (0 greedy, 1… sampled)

On opening, whole lines of finished episodes are kept. A torn last line and episodes that the infrastructure failed are
left out and owed again. One writer at a time: a lock file of the running process refuses a second.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from environment.core.errors import ConfigError, DataError, StageError
from environment.core.trajectory import StopReason, Trajectory

Key = tuple[str, int]
"""(task id, sample)."""


@dataclass
class TrajectoryStore:
    """The trajectories of `name` under `folder`; a context manager."""

    folder: Path
    name: str
    settings: Mapping[str, Any]
    """Everything that decides the outcome; plain JSON."""
    force: bool = False
    """Continue under other settings all the same; each difference is kept in the settings file, under `forced`."""
    done: set[Key] = field(default_factory=set[Key])
    _file: IO[bytes] | None = field(default=None, repr=False)
    _lock: IO[bytes] | None = field(default=None, repr=False)

    @property
    def path(self) -> Path:
        """The trajectories file."""
        return self.folder / f"{self.name}.trajectories.jsonl"

    @property
    def settings_path(self) -> Path:
        """The settings file."""
        return self.folder / f"{self.name}.settings.json"

    def __enter__(self) -> Self:
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = (self.folder / f".{self.name}.lock").open("ab")
        try:
            self._take()
            with writing(self.path):
                self._agree()
                self._repair()
        except BaseException:
            self._lock.close()
            raise
        self._file = self.path.open("ab", buffering=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for file in (self._file, self._lock):
            if file is not None:
                file.close()
        self._file = self._lock = None

    def add(self, trajectory: Trajectory) -> None:
        """Append one trajectory; `meta["sample"]` must be set.

        Raises:
            StageError: the line can't be written, as when the disk is full; the file ends with the line before it.
        """
        if self._file is None:
            raise RuntimeError("TrajectoryStore is used outside `with`")
        append(self._file, json.dumps(trajectory.to_json()).encode() + b"\n", self.path)
        if trajectory.stop != StopReason.INFRASTRUCTURE:
            self.done.add(key_of(trajectory))

    def _take(self) -> None:
        assert self._lock is not None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DataError("another evaluation is writing this file", where=str(self.path)) from error

    def _agree(self) -> None:
        """Write the settings, or compare with those on disk; where nothing was finished there is nothing to protect."""
        if not self.settings_path.exists():
            self._write_settings()
            return
        before, now = self._settings_before(), json.loads(json.dumps(self.settings))
        forced: list[Any] = before.pop("forced", [])
        changes = differences(before, now)
        if changes and self.force:
            forced += [{"setting": path, "was": was, "is": is_} for path, was, is_ in changes]
        elif changes and finished_keys(self.path):
            what = f"cannot resume: the settings differ from the ones it was begun with\n{_table(changes)}"
            fix = "give the old values, or another name (nothing was changed)"
            raise ConfigError(what, where=str(self.path), fix=fix)
        if forced:
            self.settings = {**now, "forced": forced}
        if changes:
            self._write_settings()

    def _write_settings(self) -> None:
        write_whole(self.settings_path, json.dumps(self.settings, indent=2).encode() + b"\n")

    def _settings_before(self) -> dict[str, Any]:
        try:
            found: Any = json.loads(self.settings_path.read_text(encoding="utf-8"))
        except ValueError as error:
            fix = "move the file away to begin anew, or put the right one back"
            raise DataError(f"not JSON: {error}", where=str(self.settings_path), fix=fix) from error
        if not isinstance(found, dict):
            raise DataError("no settings", where=str(self.settings_path), expected="a JSON object")
        return found

    def _repair(self) -> None:
        """Keep whole lines of finished episodes, each (task, sample) once; the file is rewritten only when needed."""
        if not self.path.exists():
            return
        kept: list[bytes] = []
        content = self.path.read_bytes()
        for line in content.splitlines(keepends=True):
            key = _finished(line)
            if key is not None and key not in self.done:
                self.done.add(key)
                kept.append(line)
        if (whole := b"".join(kept)) != content:
            write_whole(self.path, whole)


def read_trajectories(path: Path) -> Iterator[Trajectory]:
    """Yield the trajectories of a file, leaving out lines that are torn."""
    if not path.is_file():
        return
    with path.open("rb") as lines:
        for line in lines:
            try:
                yield Trajectory.from_json(json.loads(line))
            except (ValueError, KeyError, TypeError):
                continue


def finished_keys(path: Path) -> set[Key]:
    """Return which episodes a file holds whole; those that the infrastructure failed are owed."""
    return {key_of(t) for t in read_trajectories(path) if t.stop != StopReason.INFRASTRUCTURE}


def key_of(trajectory: Trajectory) -> Key:
    """Return which task and sample a trajectory is of."""
    return trajectory.task_id, int(trajectory.meta.get("sample", 0))


def differences(before: Any, after: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Return (dotted path, was, is) of every setting that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        keys: list[str] = sorted({*before, *after})
        return [d for k in keys for d in differences(before.get(k), after.get(k), f"{path}.{k}" if path else k)]
    return [] if before == after else [(path, before, after)]


def _table(changes: list[tuple[str, Any, Any]]) -> str:
    width = max(len(path) for path, _, _ in changes)
    return "\n".join(f"  {path:<{width}}  was {was!r}  is {now!r}" for path, was, now in changes)


def _finished(line: bytes) -> Key | None:
    if not line.endswith(b"\n"):
        return None
    try:
        trajectory = Trajectory.from_json(json.loads(line))
    except (ValueError, KeyError, TypeError):
        return None
    return None if trajectory.stop == StopReason.INFRASTRUCTURE else key_of(trajectory)


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all; StageError where it can't be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        try:
            part.write_bytes(content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def append(file: IO[bytes], line: bytes, path: Path) -> None:
    """Append a line to an unbuffered file, whole or not at all; StageError where it can't be written."""
    before = os.fstat(file.fileno()).st_size
    with writing(path):
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[file.write(rest) :]
        except OSError:
            os.ftruncate(file.fileno(), before)
            raise


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write, such as a full disk, into one message."""
    try:
        yield
    except OSError as error:
        fix = "make room or name another place, then run again: what is finished is kept"
        raise StageError(f"can't write ({error.strerror or error})", where=str(path), fix=fix) from error
