"""`RecordingWorld`: a world that grows. What is recorded is answered; what is not is asked of an upstream, and kept.

    call ─► recorded? ─► answer            journal.db   one SQLite file in WAL mode, many processes at once
              │ no                             │
              └─► upstream ─► keep ─► answer   └─ seal ─► world.db, read only, with its content hash

An answer is committed before it is given, so a kill at any moment loses nothing that was paid for. Where two writers
ask the same at once, both give the answer that was kept first.
"""
from __future__ import annotations

import os
import sqlite3
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from environment.cache.layout import CREATE, FORMAT, decode, encode, files_as_world_errors, row_digest, vouched
from environment.cache.report import BuildReport
from environment.cache.store import CachedWorld
from environment.cache.writer import RECORDABLE, CacheWriter
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import json_key
from environment.core.dispatch import World, answer_call, failure, waits
from environment.core.errors import WorldError
from environment.core.schema import ToolSchema
from environment.core.upstream import Upstream, UpstreamFailure
from environment.core.validate import check_canonical

JOURNAL_ID = 0x746C726A
"""Marks a SQLite file as a journal of ours ("tlrj")."""
BUSY_S = 30.0
"""How long a writer waits for another one."""
_INSERT = """
INSERT INTO entries VALUES (
    :tool, :key, :status, :given, :value, :digest, (SELECT id FROM provenance WHERE text = :source)
) ON CONFLICT DO NOTHING
"""


class RecordingWorld:
    """Answers from a recorded world and a journal, and asks the upstream for the rest."""

    def __init__(self, journal: Path, upstream: World, base: CachedWorld | None = None, provenance: str = "") -> None:
        """Open or begin a journal.

        Args:
            journal: the file that grows.
            upstream: who is asked, an `Upstream` or any other world. Only its `ok` and `upstream_error` answers are
                kept; it may raise, which is answered as an upstream error and kept nowhere.
            base: a recorded world that is looked up first.
            provenance: where the upstream's answers come from, kept with them.
        """
        self.journal, self.schemas = Path(journal), upstream.schemas
        self.counts: Counter[str] = Counter()
        """Calls by what answered them: `base`, `journal`, `upstream`, and `failed` for an upstream that raised."""
        self._upstream, self._base = upstream, base
        self._provenance = provenance or _provenance(upstream)
        self._local = threading.local()
        self._db()

    @property
    def waits(self) -> bool:
        """Whether the upstream waits for another machine."""
        return waits(self._upstream)

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the answer to one call; never raises because of what a model wrote or an upstream did.

        Only valid calls reach the upstream.

        Raises:
            WorldError: the journal can't be read or written, or is damaged.
        """

        def look_up(schema: ToolSchema, canonical: dict[str, JsonValue]) -> WorldAnswer | None:
            found = self._recorded(schema.name, canonical)
            if found is not None or check_canonical(schema, canonical):
                return found  # a wrong call costs nothing upstream; the caller says what is wrong with it
            return self._ask(schema.name, canonical, arguments)

        return answer_call(self.schemas, name, arguments, look_up)

    def halt(self) -> None:
        """Ask the upstream for nothing more, where it can be told so; requests under way go on to their end."""
        halt = getattr(self._upstream, "halt", None)
        if halt is not None:
            halt()

    def kept_count(self) -> int:
        """Return how many answers the journal holds."""
        with files_as_world_errors("can't read the journal", self.journal):
            return self._db().execute("SELECT count(*) FROM entries").fetchone()[0]

    def close(self) -> None:
        """Close the journal; a later call opens it again."""
        db = getattr(self._local, "db", None)
        if db is not None:
            db.close()
        self._local = threading.local()

    def __enter__(self) -> RecordingWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _recorded(self, tool: str, canonical: dict[str, JsonValue]) -> WorldAnswer | None:
        key = json_key(canonical)
        found = self._base.find(tool, key) if self._base is not None else None
        if found is not None:
            self.counts["base"] += 1
            return WorldAnswer(found.status, decode(found.text))
        row = self._kept(tool, key)
        self.counts["journal"] += row is not None
        return row

    def _ask(
        self, tool: str, canonical: dict[str, JsonValue], arguments: Mapping[str, JsonValue]
    ) -> WorldAnswer | None:
        """Ask the upstream; None where it has no answer."""
        try:
            answer = self._upstream.call(tool, arguments)
        except UpstreamFailure as error:
            self.counts["failed"] += 1
            return failure(ResultStatus.UPSTREAM_ERROR, error.what)
        except Exception as error:  # an upstream is anyone's code behind anyone's network
            self.counts["failed"] += 1
            return failure(ResultStatus.UPSTREAM_ERROR, f"The service failed: {type(error).__name__}")
        if answer.status not in RECORDABLE:
            return None
        self.counts["upstream"] += 1
        self._keep(tool, json_key(canonical), arguments, answer)
        return self._kept(tool, json_key(canonical))

    def _kept(self, tool: str, key: str) -> WorldAnswer | None:
        query = "SELECT key, status, arguments, value, digest FROM entries WHERE tool = ? AND key = ?"
        with files_as_world_errors("can't read the journal", self.journal):
            row = self._db().execute(query, (tool, key)).fetchone()
        return None if row is None else WorldAnswer(ResultStatus(row[1]), decode(vouched(self.journal, tool, row)))

    def _keep(self, tool: str, key: str, arguments: Mapping[str, JsonValue], answer: WorldAnswer) -> None:
        """Commit an answer, unless another writer was first."""
        written = encode(dict(arguments)).decode()
        given, text = None if written == key else written, encode(answer.value)
        digest = row_digest(tool, key, answer.status, given, text)
        values = {"source": self._provenance, "tool": tool, "key": key, "status": answer.status, "given": given}
        values |= {"value": zlib.compress(text, 3), "digest": digest}
        with files_as_world_errors("can't keep an answer", self.journal), self._db() as db:  # commits, or rolls back
            db.execute("INSERT INTO provenance(text) VALUES (:source) ON CONFLICT DO NOTHING", values)
            db.execute(_INSERT, values)

    def _db(self) -> sqlite3.Connection:
        """Return the connection of this thread in this process."""
        if getattr(self._local, "pid", None) != os.getpid():
            self._local.db, self._local.pid = _open_journal(self.journal), os.getpid()
        return self._local.db


def seal(journal: Path, out: Path, schemas: Mapping[str, ToolSchema], base: Path | None = None) -> BuildReport:
    """Write a journal, and the recorded world it grew from, as the recorded world `out`; the journal stays.

    Raises:
        WorldError: no journal, or a damaged one; nothing is written.
    """
    if not journal.is_file():
        raise WorldError("no journal", where=str(journal), fix="give the file that a RecordingWorld wrote")
    query = "SELECT tool, text, key, status, arguments, value, digest FROM entries JOIN provenance ON id = provenance"
    with CacheWriter(out, schemas, start_from=base) as writer, closing(_open_journal(journal)) as db:
        for tool, source, *row in db.execute(f"{query} ORDER BY tool, key"):
            key, status, given, *_ = row
            answer = decode(vouched(journal, tool, row))
            writer.add(tool, decode((given or key).encode()), ResultStatus(status), answer, source)
    return writer.report


def _provenance(upstream: World) -> str:
    return upstream.provenance if isinstance(upstream, Upstream) else type(upstream).__name__


def _open_journal(path: Path) -> sqlite3.Connection:
    with files_as_world_errors("can't open the journal", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        db = sqlite3.connect(path, timeout=BUSY_S, isolation_level="IMMEDIATE")
        if _foreign(db):
            raise WorldError("a SQLite file, but not a journal", where=str(path), fix="name another file")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, FORMAT):
            fix = "seal it with the version that wrote it"
            raise WorldError("a journal of another format", where=str(path), got=version, expected=str(FORMAT), fix=fix)
        _retried(lambda: db.execute("PRAGMA journal_mode = WAL"))
        _begin(db)
    return db


def _retried(action: Callable[[], object]) -> None:
    """Repeat while the file is locked: SQLite's own waiting does not cover the change to WAL mode."""
    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            action()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def _foreign(db: sqlite3.Connection) -> bool:
    """Tell whether a file is someone else's: another mark, or tables without one.

    Both are read in one transaction, for another process may be laying the tables just now.
    """
    db.execute("BEGIN")
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    mark = db.execute("PRAGMA application_id").fetchone()[0]
    db.execute("ROLLBACK")
    return mark != JOURNAL_ID and (mark != 0 or tables > 0)


def _begin(db: sqlite3.Connection) -> None:
    """Lay the tables of a new journal; two processes may begin one at once."""
    if db.execute("PRAGMA application_id").fetchone()[0] == JOURNAL_ID:
        return
    db.execute("BEGIN IMMEDIATE")
    if db.execute("PRAGMA application_id").fetchone()[0] == 0:
        for statement in CREATE.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {FORMAT}")
        db.execute(f"PRAGMA application_id = {JOURNAL_ID}")
    db.execute("COMMIT")
