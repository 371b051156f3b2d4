"""Ids seen so far, in memory that does not grow with their number.

Ids are nearly always unique, so they are first only fingerprinted, at 8 bytes each on disk, and looked at in the end.
Where two fingerprints are equal the work is done again with `SeenIds`, which knows every id and its row but costs as
much as all the rest.
"""
from __future__ import annotations

import sqlite3
import tempfile
from array import array
from collections.abc import Iterator
from typing import Protocol

import numpy as np

_CACHE_KIB = 8192
_HELD = 1 << 17
"""Fingerprints in memory before they go to disk."""
_SORTED = 1 << 20
"""Fingerprints looked at together."""


class Ids(Protocol):
    """Knows ids by the row they came in."""

    def first(self, identity: str, number: int) -> int | None:
        """Remember an id; return the number it came under before, None where it is new or not known to be old."""
        ...

    def settled(self) -> bool:
        """Return whether every id that came twice was told."""
        ...

    def close(self) -> None:
        """Forget everything."""
        ...


class Fingerprints:
    """Tells at the end whether any id came twice."""

    def __init__(self) -> None:
        self._held = array("q")
        self._count = 0
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)

    def first(self, identity: str, number: int) -> int | None:
        """Remember an id; None whatever it is."""
        self._held.append(hash(identity))
        if len(self._held) >= _HELD:
            self._spill()
        return None

    def settled(self) -> bool:
        """Return whether all fingerprints differ."""
        self._spill()
        parts = self._count // _SORTED + 1
        return all(self._unique(part, parts) for part in range(parts))

    def close(self) -> None:
        """Forget everything."""
        self._file.close()

    def _spill(self) -> None:
        self._held.tofile(self._file)
        self._count += len(self._held)
        self._held = array("q")

    def _unique(self, part: int, parts: int) -> bool:
        """Return whether the fingerprints of one of so many parts differ; equal ones are in the same part."""
        chosen = np.concatenate([chunk[chunk % parts == part] for chunk in self._chunks()] or [np.empty(0, np.int64)])
        return len(np.unique(chosen)) == len(chosen)

    def _chunks(self) -> Iterator[np.ndarray]:
        self._file.seek(0)
        while data := self._file.read(8 * _HELD):
            yield np.frombuffer(data, np.int64)
        self._file.seek(0, 2)


class SeenIds:
    """Remembers under which number each id came first, in a table that SQLite moves to disk by itself."""

    def __init__(self) -> None:
        # An empty name is a private file that is made only once the cache is full, and goes with the connection.
        self._rows = sqlite3.connect("", isolation_level=None)
        self._rows.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._rows.execute("PRAGMA synchronous = OFF")
        self._rows.execute("CREATE TABLE seen (id TEXT PRIMARY KEY, number INTEGER) WITHOUT ROWID")
        self._rows.execute("BEGIN")

    def first(self, identity: str, number: int) -> int | None:
        """Remember an id; return the number it came under before, None where it is new."""
        text = identity.encode("utf-8", "backslashreplace").decode()
        added = self._rows.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (text, number))
        if added.rowcount:
            return None
        return int(self._rows.execute("SELECT number FROM seen WHERE id = ?", (text,)).fetchone()[0])

    def settled(self) -> bool:
        """Return True: every id that came twice was told at once."""
        return True

    def close(self) -> None:
        """Forget everything."""
        self._rows.close()
