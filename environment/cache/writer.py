"""`CacheWriter`: writes a recorded world, all or nothing.

Entries go to a file beside the target; leaving the block without an exception moves it into place in one step, so
readers see the old world or the new one, never half of it. A canonical call has one answer; a second is reported.
"""
from __future__ import annotations

import os
import shutil
import sqlite3
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from environment.cache.layout import (
    APPLICATION_ID,
    CREATE,
    FORMAT,
    content_hash,
    decode,
    encode,
    files_as_world_errors,
    row_digest,
)
from environment.cache.report import BuildReport, Conflict
from environment.cache.store import CachedWorld
from environment.core.calls import JsonValue, ResultStatus
from environment.core.canonical import canonical_arguments, json_key
from environment.core.errors import DataError, WorldError, nearest_name
from environment.core.schema import ToolSchema

RECORDABLE = (ResultStatus.OK, ResultStatus.UPSTREAM_ERROR)
"""What a service can answer; misses and wrong arguments are found out anew by every reader."""


class CacheWriter:
    """Context manager that writes the world at `path`."""

    def __init__(self, path: Path, schemas: Mapping[str, ToolSchema], *, start_from: Path | None = None) -> None:
        """Prepare to write.

        Args:
            start_from: a recorded world to begin with, `path` itself or another; None begins with nothing.
        """
        self.path, self.schemas = Path(path), schemas
        self._origin = start_from
        self._partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")
        self._sources: dict[str, int] = {}
        self._duplicates = 0
        self._conflicts: list[Conflict] = []
        self._skipped: dict[str, int] = {}
        self._examples: dict[str, str] = {}
        self._odd: dict[str, int] = {}
        self._report: BuildReport | None = None

    def __enter__(self) -> CacheWriter:
        self._started = time.monotonic()
        if self._origin is not None:
            CachedWorld.open(self._origin, self.schemas).close()  # refuses what is no recorded world, and says why
        if self.path.is_dir():
            raise WorldError("a folder, not a file to write", where=str(self.path), fix="name a file")
        with files_as_world_errors("can't write the world", self.path):
            self._begin()
        return self

    def _begin(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._partial.unlink(missing_ok=True)
        if self._origin is not None:
            shutil.copyfile(self._origin, self._partial)
        self._db = sqlite3.connect(self._partial, isolation_level=None)
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        if self._origin is not None:
            self._sources = {text: i for i, text in self._db.execute("SELECT id, text FROM provenance")}
        else:
            stamp = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {FORMAT};"
            self._db.executescript(stamp + CREATE)
        self._db.execute("BEGIN")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with files_as_world_errors("can't write the world", self.path):
            try:
                if kind is None:
                    self._finish()
            finally:
                self._db.close()
                if self._report is None:
                    self._partial.unlink(missing_ok=True)
            if self._report is not None:
                _sync(self._partial)
                os.replace(self._partial, self.path)
            if isinstance(error, sqlite3.Error):
                raise error  # from `add`: the world's error, not SQLite's

    @property
    def report(self) -> BuildReport:
        """What came of it; there once the block has ended well."""
        if self._report is None:
            raise WorldError("not written", where=str(self.path), fix="read the report after the with block")
        return self._report

    def add(
        self,
        tool: str,
        arguments: Mapping[str, JsonValue],
        status: ResultStatus,
        value: JsonValue,
        provenance: str,
    ) -> bool:
        """Record one answer; True when the call was new, False for a duplicate or a conflict."""
        schema = self.schemas.get(tool)
        if schema is None:
            raise DataError("unknown tool", got=tool, nearest=nearest_name(tool, self.schemas))
        if status not in RECORDABLE:
            raise DataError("not an answer of a service", got=status, expected=" or ".join(RECORDABLE))
        key, written = json_key(canonical_arguments(schema, arguments)), encode(dict(arguments)).decode()
        given = None if written == key else written
        text = encode(value)
        digest, packed = row_digest(tool, key, status, given, text), zlib.compress(text, 3)
        row = (tool, key, status, given, packed, digest, self._source(provenance))
        added = self._db.execute("INSERT INTO entries VALUES (?,?,?,?,?,?,?) ON CONFLICT DO NOTHING", row).rowcount
        if not added:
            self._note_repeat(tool, key, decode(text), arguments, provenance)
        return bool(added)

    def skip(self, reason: str, source: str | None = None) -> None:
        """Count something that was left out; the first place of each reason is kept."""
        self._skipped[reason] = self._skipped.get(reason, 0) + 1
        if source is not None:
            self._examples.setdefault(reason, source)

    def note_odd(self, reason: str, source: str) -> None:
        """Count an answer that was kept though it does not look like its tool's; the first place is kept."""
        self._odd[reason] = self._odd.get(reason, 0) + 1
        self._examples.setdefault(reason, source)

    def _source(self, text: str) -> int:
        if text not in self._sources:
            self._sources[text] = len(self._sources) + 1
            self._db.execute("INSERT INTO provenance VALUES (?,?)", (self._sources[text], text))
        return self._sources[text]

    def _note_repeat(
        self, tool: str, key: str, value: JsonValue, arguments: Mapping[str, JsonValue], provenance: str
    ) -> None:
        query = "SELECT value, text FROM entries JOIN provenance ON id = provenance WHERE tool = ? AND key = ?"
        stored, source = self._db.execute(query, (tool, key)).fetchone()
        if decode(zlib.decompress(stored)) == value:
            self._duplicates += 1
        else:
            self._conflicts.append(Conflict(tool, dict(arguments), source, provenance))

    def _finish(self) -> None:
        digests = (row[0] for row in self._db.execute("SELECT digest FROM entries ORDER BY tool, key"))
        whole = content_hash(digests)
        by_tool = dict(self._db.execute("SELECT tool, count(*) FROM entries GROUP BY tool ORDER BY tool").fetchall())
        entries = sum(by_tool.values())
        if not entries:
            left_out = "; ".join(f"{count}: {reason}" for reason, count in self._skipped.items())
            got = f"left out {left_out}" if left_out else "no rows"
            raise WorldError("nothing to write", where=str(self.path), got=got, expected="at least one entry")
        meta = {"entries": str(entries), "content_hash": whole}
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", meta.items())
        self._db.execute("COMMIT")
        seconds = time.monotonic() - self._started
        self._report = BuildReport(
            self.path, entries, by_tool, whole, self._duplicates, tuple(self._conflicts), self._skipped, seconds,
            self._examples, self._odd,
        )  # fmt: skip


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
