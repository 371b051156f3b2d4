"""`ReplyCache`: answers on disk by what was asked, so that a job that runs again pays only for what is missing.

One SQLite file; many processes may share it. The key is a digest of the model's name and the whole request, so another
prompt, schema or temperature asks anew. The address of the endpoint is left out: a local server has another port
each time. Serve another model under another name.
"""
from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from environment.core.errors import DataError

_TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID"


def request_key(model: str, body: Mapping[str, Any]) -> str:
    """Return the digest of a request."""
    text = json.dumps([model, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class ReplyCache:
    """Texts by key; a context manager."""

    def __init__(self, path: Path) -> None:
        """Open or make the file; DataError where it can't be, or is something else."""
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._rows.execute("PRAGMA journal_mode=WAL")
            self._rows.execute("PRAGMA synchronous=NORMAL")
            self._rows.execute(_TABLE)
        except (sqlite3.Error, OSError) as error:
            raise DataError(f"the cache of replies can't be used ({error})", where=str(path)) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self._rows.execute("SELECT count(*) FROM replies").fetchone()[0])

    def get(self, key: str) -> str | None:
        """Return the text kept under a key."""
        found: tuple[str] | None = self._rows.execute("SELECT text FROM replies WHERE key = ?", (key,)).fetchone()
        return found[0] if found else None

    def put(self, key: str, text: str) -> None:
        """Keep a text; it is on disk when this returns. The first text under a key stays."""
        self._rows.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (key, text))

    def close(self) -> None:
        """Close the file."""
        self._rows.close()
