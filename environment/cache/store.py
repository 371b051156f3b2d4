"""`CachedWorld`: a recorded world, read only.

Opening costs milliseconds whatever the size, so every worker opens its own. A missing, empty or foreign file is refused
at once, a damaged row at the moment it is read. Answers are fresh copies: no caller can alter another's world.

What was answered last is kept as text by the call as it was written, for the rollouts of a group ask the same things:

    call ─► text of the arguments ─► kept? ─► text of the answer ─► a fresh value
                                      └ no ─► canonical key ─► row of the file ─► digest ─┘

No more than `MEMORY` bytes are kept a world, in each process.
"""
from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import orjson

from environment.booking.schemas import load_schemas
from environment.cache.layout import APPLICATION_ID, FORMAT, content_hash, decode, encode, vouched
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import json_key
from environment.core.dispatch import answer_call
from environment.core.errors import WorldError
from environment.core.recent import Recent
from environment.core.schema import ToolSchema

MEMORY = 8 << 20
"""Bytes of answers, their calls included, that a world keeps at hand."""
LONGEST_ASKED = 4096
"""Bytes of the arguments of a call that may be kept."""
_OVERHEAD = 500
"""Bytes that Python needs for keeping one answer, over those of its texts."""
_PAGE = 500
_SELECT = "SELECT key, status, arguments, value, digest FROM entries"
_REBUILD = "build it again (tool-rl world build, or import), or give the path of another world"


class Recording(NamedTuple):
    """One row."""

    key: str
    """Canonical arguments as JSON text."""
    arguments: str
    """Arguments as recorded, as JSON text."""
    status: ResultStatus
    text: bytes
    """The value as JSON text."""


class AnswerText(NamedTuple):
    """An answer, its value still JSON text."""

    status: ResultStatus
    text: bytes


class CachedWorld:
    """The answers recorded in one file; pickles by path, usable from threads and after a fork."""

    def __init__(self, path: Path, schemas: Mapping[str, ToolSchema]) -> None:
        self.path, self.schemas = Path(path), schemas
        self._local = threading.local()
        self._recent = Recent[tuple[str, bytes], AnswerText](MEMORY)
        meta = self._check()
        self.content_hash: str = meta["content_hash"]
        self.entry_count: int = int(meta["entries"])

    @classmethod
    def open(cls, path: Path, schemas: Mapping[str, ToolSchema] | None = None) -> CachedWorld:
        """Open the world at `path` with the BookingAPI schemas or those given; WorldError says why it can't be used."""
        return cls(path, load_schemas() if schemas is None else schemas)

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the recorded answer of a call, or say what is wrong with it; WorldError only for a damaged file."""
        found = self.call_text(name, arguments)
        return WorldAnswer(found.status, decode(found.text))

    def call_text(self, name: str, arguments: Mapping[str, JsonValue]) -> AnswerText:
        """Return the same with its value as JSON text, for those who pass it on as text."""
        asked = _as_written(arguments)
        known = None if asked is None else self._recent.get((name, asked))
        if known is not None:
            return known
        answer = answer_call(self.schemas, name, arguments, self._look_up)
        if isinstance(answer, WorldAnswer):
            return AnswerText(answer.status, encode(answer.value))
        if asked is not None:
            # Copies: the bytes of zlib and orjson are shrunken blocks of 16 and 1 kB, which leave holes in the heap.
            key, kept = (name, bytes(memoryview(asked))), AnswerText(answer.status, bytes(memoryview(answer.text)))
            self._recent.put(key, kept, len(asked) + len(kept.text) + _OVERHEAD)
        return answer

    def entries(self, tool: str) -> Iterator[tuple[dict[str, JsonValue], JsonValue]]:
        """Yield (arguments as recorded, value) of every answer with status ok of a tool, in the order of their keys."""
        for recording in self.recordings(tool):
            if recording.status is ResultStatus.OK:
                yield json.loads(recording.arguments), decode(recording.text)

    def recordings(self, tool: str) -> Iterator[Recording]:
        """Yield everything recorded of a tool, in the order of the keys."""
        for row in self._pages(tool):
            key, status, given, *_ = row
            yield Recording(key, given or key, ResultStatus(status), self._vouched(tool, row))

    def keys(self, tool: str) -> Iterator[str]:
        """Yield the canonical keys of a tool, in order, without reading the answers."""
        after, query = "", "SELECT key FROM entries WHERE tool = ? AND key > ? ORDER BY key LIMIT ?"
        while page := self._rows(query, (tool, after, 20 * _PAGE)):
            yield from (row[0] for row in page)
            after = page[-1][0]

    def find(self, tool: str, key: str) -> Recording | None:
        """Return what is recorded under a canonical key."""
        for row in self._rows(f"{_SELECT} WHERE tool = ? AND key = ?", (tool, key)):
            return Recording(key, row[2] or key, ResultStatus(row[1]), self._vouched(tool, row))
        return None

    def tools(self) -> dict[str, int]:
        """Return tool → number of recorded answers."""
        query = "SELECT tool, count(*) FROM entries GROUP BY tool ORDER BY tool"
        return {tool: count for tool, count in self._rows(query, ())}

    def verify(self) -> None:
        """Read every row and compare all digests; WorldError names the first that is off."""
        for error in self.damage():
            raise error

    def damage(self) -> Iterator[WorldError]:
        """Yield an error for every row that is off, and one if rows are missing or were put in; none: all is well."""
        digests: list[bytes] = []
        try:
            for tool in self.tools():
                for row in self._pages(tool):
                    digests.append(row[-1])
                    try:
                        self._vouched(tool, row)
                    except WorldError as error:
                        yield error
        except WorldError as error:  # SQLite itself can't read on
            yield error
            return
        if len(digests) != self.entry_count or content_hash(digests) != self.content_hash:
            yield WorldError("content differs from its hash", where=str(self.path), fix=_REBUILD)

    def sources(self) -> dict[str, int]:
        """Return where entries came from → how many."""
        query = "SELECT text, count(*) FROM entries JOIN provenance ON id = provenance GROUP BY text ORDER BY text"
        return {text: count for text, count in self._rows(query, ())}

    def close(self) -> None:
        """Close the file and forget what was read; a later call opens it again."""
        self._local = threading.local()
        self._recent.clear()

    def __enter__(self) -> CachedWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        return (CachedWorld, (self.path, self.schemas))

    def _look_up(self, schema: ToolSchema, arguments: dict[str, JsonValue]) -> AnswerText | None:
        found = self.find(schema.name, json_key(arguments))
        return None if found is None else AnswerText(found.status, found.text)

    def _vouched(self, tool: str, row: tuple[JsonValue, ...]) -> bytes:
        """Return a row's value as JSON text once its digest agrees."""
        return vouched(self.path, tool, row, _REBUILD)

    def _pages(self, tool: str) -> Iterator[tuple[JsonValue, ...]]:
        """Yield the rows of a tool, some hundred at a time, so that memory stays flat however large the world."""
        query = f"{_SELECT} WHERE tool = ? AND key > ? ORDER BY key LIMIT ?"
        after = ""
        while page := self._rows(query, (tool, after, _PAGE)):
            yield from page
            after = page[-1][0]

    def _rows(self, query: str, values: tuple[str | int, ...]) -> list[tuple[JsonValue, ...]]:
        try:
            return self._connection().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise WorldError(f"can't read the world: {error}", where=str(self.path), fix=_REBUILD) from error

    def _connection(self) -> sqlite3.Connection:
        """Return the connection of this thread in this process: SQLite's must not cross a fork."""
        local = self._local
        if getattr(local, "pid", None) != os.getpid():
            uri = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
            local.db, local.pid = sqlite3.connect(uri, uri=True), os.getpid()
        return local.db

    def _check(self) -> dict[str, str]:
        if not self.path.is_file():
            raise WorldError("no recorded world", where=str(self.path), fix=_REBUILD)
        with self.path.open("rb") as file:
            if file.read(15) != b"SQLite format 3":
                raise WorldError("not a recorded world", where=str(self.path), expected="a SQLite file", fix=_REBUILD)
        found = [self._rows(f"PRAGMA {name}", ())[0][0] for name in ("application_id", "user_version")]
        if found[0] != APPLICATION_ID:
            raise WorldError("a SQLite file, but not a recorded world", where=str(self.path), fix=_REBUILD)
        if found[1] != FORMAT:
            raise WorldError("another format", where=str(self.path), got=found[1], expected=str(FORMAT), fix=_REBUILD)
        meta = {str(k): str(v) for k, v in self._rows("SELECT name, value FROM meta", ())}
        if not {"entries", "content_hash"} <= set(meta) or not self._rows("SELECT 1 FROM entries LIMIT 1", ()):
            raise WorldError("an empty or unfinished world", where=str(self.path), fix=_REBUILD)
        return meta


def _as_written(arguments: Mapping[str, JsonValue]) -> bytes | None:
    """Return arguments as bytes that no others have; None for what is too long to keep or can't be written so."""
    try:
        text = orjson.dumps(arguments)
    except TypeError:
        return None
    return text if len(text) <= LONGEST_ASKED and b"null" not in text else None  # NaN is written as null, too
