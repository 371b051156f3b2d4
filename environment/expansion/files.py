"""The files beside a world that is being expanded; with them a killed expansion goes on where it was.

    world.db               the recorded world, replaced as a whole when an expansion ends
    world.db.journal       answers since then (`RecordingWorld`)
    world.db.requests      one byte for every request sent to a paid service: its length is what was spent
    world.db.unanswered    one line for every call that the upstream has no answer to
    world.db.proposals     what a language model proposed
    world.db.begun         the first date that calls are made for, so that going on another day asks the same
    world.db.lock          held while an expansion runs
"""
from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import date
from hashlib import blake2b
from pathlib import Path

from environment.cache.layout import files_as_world_errors
from environment.core.errors import ConfigError
from environment.upstream.modes import journal_of


class ExpansionFiles:
    """Where the parts of one expansion lie."""

    def __init__(self, world: Path) -> None:
        self.world, self.journal = world, journal_of(world)
        self._requests = world.with_name(f"{world.name}.requests")
        self._unanswered = world.with_name(f"{world.name}.unanswered")
        self.proposals = world.with_name(f"{world.name}.proposals")
        self._begun = world.with_name(f"{world.name}.begun")
        self._lock = world.with_name(f"{world.name}.lock")

    @contextmanager
    def locked(self) -> Generator[None, None, None]:
        """Hold the world against other expansions.

        Raises:
            ConfigError: another one is running.
            WorldError: the folder can't be written.
        """
        with files_as_world_errors("can't expand the world", self.world):
            self.world.parent.mkdir(parents=True, exist_ok=True)
            file = self._lock.open("a")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                fix = "wait for it, or stop it"
                raise ConfigError("another expansion is at work", where=str(self.world), fix=fix) from error
            yield

    def spent(self) -> int:
        """Return the requests that were sent since the last expansion ended."""
        return self._requests.stat().st_size if self._requests.exists() else 0

    def spend(self) -> None:
        """Note one request before it is sent."""
        append(self._requests, b".")

    def first_day(self, default: date) -> date:
        """Return the first date of the calls of the expansion under way, or the default where none is."""
        try:
            return date.fromisoformat(self._begun.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            return default

    def begin(self, first_day: date) -> None:
        """Note the first date of the calls."""
        with files_as_world_errors("can't expand the world", self.world):
            self._begun.write_text(first_day.isoformat(), encoding="ascii")

    def unanswered(self) -> set[str]:
        """Return the marks of the calls without an answer; a torn last line is none."""
        if not self._unanswered.exists():
            return set()
        lines = self._unanswered.read_bytes().split(b"\n")
        return {line.decode("ascii", "replace") for line in lines[:-1]}

    def leave_unanswered(self, mark: str) -> None:
        """Note a call without an answer."""
        append(self._unanswered, mark.encode("ascii") + b"\n")

    def tidy(self, *, finished: bool) -> None:
        """Remove what has gone into the world, and once all is done the notes too."""
        notes = (self._requests, self._unanswered, self._begun, self.proposals) if finished else ()
        databases = (self.journal, self.proposals) if finished else (self.journal,)
        sides = (path.with_name(path.name + end) for path in databases for end in ("-wal", "-shm"))
        for path in (self.journal, *sides, *notes):
            path.unlink(missing_ok=True)


def call_mark(tool: str, key: str) -> str:
    """Return a short name of a call."""
    return blake2b(f"{tool}\0{key}".encode(), digest_size=12).hexdigest()


_WRITING = threading.Lock()


def append(path: Path, text: bytes) -> None:
    """Add to a file in one write, so that lines of several threads and processes do not mix."""
    with files_as_world_errors("can't note what was asked", path), _WRITING:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(handle, text)
        finally:
            os.close(handle)
