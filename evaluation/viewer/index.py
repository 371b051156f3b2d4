"""Where each trajectory lies and a few facts of it: built in one pass, continued as files grow, nothing else kept.

    refresh ──► new files? grown ones? ──► lines from where we stopped ──► rows
                replaced, shrunk, judged anew ──► that file from its beginning

Nothing is written: the index lives as long as the viewer. A last line without its end is still being written and waits,
unless it is whole already. Lines that are no trajectory are named and left out.
"""
from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from environment.core.trajectory import Trajectory
from evaluation.viewer.facts import Outcomes, Reader, Row, decode
from evaluation.viewer.sources import Source, outcomes_of, summary_of

REST_S = 0.5
"""Files are looked at again at most this often."""
MOST_BAD = 1000
"""Bad lines of a file that are named; more are counted."""
_BUFFER = 1 << 20


@dataclass(frozen=True)
class BadLine:
    """A line that is no trajectory."""

    line: int
    why: str


class IndexedFile:
    """The rows of one file so far."""

    def __init__(self, path: Path, number: int, title: str) -> None:
        self.path, self.number, self.title = path, number, title
        self.problem: str | None = None
        """Why the file can't be read, if it can't."""
        self._begin(None, {})

    def refresh(self) -> bool:
        """Read what is new; return whether anything changed."""
        try:
            with self.path.open("rb", buffering=_BUFFER) as file:
                self.problem = None
                return self._read(file)
        except OSError as error:
            was, self.problem = self.problem, f"cannot be read: {error.strerror or error}"
            if self.rows:
                self._begin(None, {})
            return was != self.problem

    def line_of(self, row: Row) -> bytes:
        """Return the line of a row. ValueError where the file has changed since it was indexed."""
        with self.path.open("rb") as file:
            file.seek(row.offset)
            line = file.read(row.length)
        if len(line) < row.length:
            raise ValueError("the file has been cut since it was read")
        return line

    @property
    def growing(self) -> bool:
        """Whether the last line is still being written."""
        return self._pending

    def _begin(self, identity: object, outcomes: Outcomes) -> None:
        self.rows: list[Row] = []
        self.bad: list[BadLine] = []
        self.bad_count = 0
        self.reader = Reader(outcomes)
        self._identity = identity
        self._read_to = self._lines = 0
        self._pending = self._provisional = False

    def _read(self, file: IO[bytes]) -> bool:
        status = os.fstat(file.fileno())
        identity = (status.st_dev, status.st_ino, _stamp(summary_of(self.path)))
        replaced = identity != self._identity or status.st_size < self._read_to or not self._continues(file)
        if replaced:
            self._begin(identity, outcomes_of(self.path))
        elif status.st_size == self._read_to or (self._provisional and status.st_size == self._end_of_last()):
            return False
        if self._provisional:
            self.rows.pop()
            self._provisional = False
        file.seek(self._read_to)
        for line in file:
            if not line.endswith(b"\n"):
                self._take_last(line)
                break
            self._take(line)
        else:
            self._pending = False
        return True

    def _take(self, line: bytes) -> None:
        self._lines += 1
        start, self._read_to = self._read_to, self._read_to + len(line)
        if body := line.strip():
            try:
                self.rows.append(self.reader.row(body, self._lines, start + line.index(body[:1])))
            except ValueError as error:
                self.bad_count += 1
                if len(self.bad) < MOST_BAD:
                    self.bad.append(BadLine(self._lines, str(error)))

    def _take_last(self, line: bytes) -> None:
        """Show a last line that is whole but for its end; it is read again when the file has grown."""
        try:
            self.rows.append(self.reader.row(line, self._lines + 1, self._read_to))
            self._provisional, self._pending = True, False
        except ValueError:
            self._pending = bool(line.strip())

    def _end_of_last(self) -> int:
        return self.rows[-1].offset + self.rows[-1].length

    def _continues(self, file: IO[bytes]) -> bool:
        """Say whether the file still has a line end where we stopped, so that it was appended to and not rewritten."""
        if not self._read_to:
            return True
        file.seek(self._read_to - 1)
        return file.read(1) == b"\n"


@dataclass(frozen=True)
class Place:
    """A row and the file it is in."""

    file: IndexedFile
    row: Row

    @property
    def key(self) -> str:
        """Names it in an address: `3-17` is line 17 of the third file."""
        return f"{self.file.number}-{self.row.line}"

    def data(self) -> dict[str, Any]:
        """Return the object of its line; ValueError where the file has changed since."""
        data = decode(self.file.line_of(self.row))
        if data.get("task_id") != self.row.task:
            raise ValueError("another trajectory stands here since the file was read; load the page again")
        return data

    def trajectory(self) -> Trajectory:
        """Return the trajectory; ValueError where the line is none in full."""
        try:
            return Trajectory.from_json(self.data())
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a whole trajectory ({type(error).__name__}: {error})") from error


@dataclass(frozen=True)
class Facets:
    """What there is to filter by, with how often it occurs."""

    stops: Counter[str] = field(default_factory=Counter[str])
    tools: Counter[str] = field(default_factory=Counter[str])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    files: Counter[int] = field(default_factory=Counter[int])
    parts: frozenset[str] = frozenset()


class Index:
    """All rows of a source. Any thread may read while one refreshes: rows are only appended, or a file begins anew."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.files: list[IndexedFile] = []
        self.version = 0
        """Grows whenever something changed."""
        self.reading = False
        self._lock = threading.Lock()
        self._looked = 0.0
        self._facets: tuple[int, Facets] = (-1, Facets())

    def refresh(self) -> None:
        """Look for new files and lines, unless that was done just now or is being done by another thread."""
        if time.monotonic() - self._looked < REST_S or not self._lock.acquire(blocking=False):
            return
        try:
            self.reading = True
            self._look()
        finally:
            self.reading = False
            self._looked = time.monotonic()
            self._lock.release()

    def places(self) -> Iterator[Place]:
        """Yield every row with its file, in order."""
        for file in list(self.files):
            for row in file.rows:
                yield Place(file, row)

    def find(self, key: str) -> Place | None:
        """Return the row an address names; None where there is none."""
        number, _, line = key.partition("-")
        if not (_is_number(number) and _is_number(line)) or not 1 <= int(number) <= len(self.files):
            return None
        file = self.files[int(number) - 1]
        rows, wanted = file.rows, int(line)
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if rows[middle].line < wanted else (low, middle)
        return Place(file, rows[low]) if low < len(rows) and rows[low].line == wanted else None

    def facets(self) -> Facets:
        """Return what there is to filter by; counted anew when something changed."""
        version, facets = self._facets
        if version != self.version or self.reading:
            version, facets = self.version, _facets(self.files)
            self._facets = (version, facets)
        return facets

    def __len__(self) -> int:
        return sum(len(file.rows) for file in self.files)

    def _look(self) -> None:
        known = {file.path for file in self.files}
        for path in self.source.files():
            if path not in known:
                self.files.append(IndexedFile(path, len(self.files) + 1, self.source.title(path)))
        for file in self.files:
            if file.refresh():
                self.version += 1


def outcome_of(row: Row) -> str:
    """Return how an episode came out: success, failure, infrastructure or unknown."""
    if row.stop == "infrastructure":
        return "infrastructure"
    return "unknown" if row.success is None else "success" if row.success else "failure"


def _facets(files: list[IndexedFile]) -> Facets:
    rows = [row for file in files for row in list(file.rows)]
    tools = Counter(row.tools for row in rows)
    by_tool: Counter[str] = Counter()
    for names, count in tools.items():
        by_tool.update(dict.fromkeys(names, count))
    return Facets(
        stops=Counter(row.stop for row in rows),
        tools=by_tool,
        outcomes=Counter(map(outcome_of, rows)),
        files=Counter({file.number: len(file.rows) for file in files}),
        parts=frozenset(name for file in files for layout in file.reader.parts.layouts for name in layout),
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 12


def _stamp(path: Path | None) -> object:
    try:
        status = path.stat() if path is not None else None
    except OSError:
        return None
    return None if status is None else (status.st_ino, status.st_mtime_ns)
