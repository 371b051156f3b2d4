"""The file behind a recorded world: one SQLite database, one row a call.

    meta(name, value)          format, entries, content_hash, tools
    provenance(id, text)       where entries came from
    entries(tool, key, …)      key = canonical arguments as JSON text, unique within its tool;
                               arguments = the text as recorded where it differs from the key; value = zlib of JSON

`digest` covers one row, uncompressed; the content hash covers every row in the order of (tool, key), so it
depends neither on the order of writing nor on SQLite's pages nor on the zlib at hand.
"""
from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from hashlib import blake2b, sha256
from pathlib import Path
from typing import Any

import orjson

from environment.core.calls import JsonValue
from environment.core.errors import WorldError

FORMAT = 1
"""Version of this layout; a reader refuses any other."""
APPLICATION_ID = 0x746C7264
"""Marks the SQLite file as ours ("tlrd")."""

CREATE = """
CREATE TABLE meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE provenance(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE entries(
    tool TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL, arguments TEXT, value BLOB NOT NULL,
    digest BLOB NOT NULL, provenance INTEGER NOT NULL REFERENCES provenance(id), PRIMARY KEY(tool, key)
) WITHOUT ROWID;
"""


def encode(value: JsonValue) -> bytes:
    """Return a value as JSON, its names in the given order."""
    try:
        return orjson.dumps(value)
    except TypeError:  # integers beyond 64 bits and lone surrogates
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def decode(text: bytes) -> Any:
    """Return the value again, a fresh copy each time."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def row_digest(tool: str, key: str, status: str, given: str | None, text: bytes) -> bytes:
    """Return the 16 bytes that vouch for a row, whatever compressed it; `text` is the value as JSON."""
    head = "\0".join((tool, key, status, given or "", "")).encode()
    return blake2b(head + text, digest_size=16).digest()


def vouched(where: Path, tool: str, row: Sequence[Any], fix: str | None = None) -> bytes:
    """Return the value of a row (key, status, arguments, value, digest) as JSON text once its digest agrees.

    WorldError names the row that is damaged.
    """
    key, status, given, packed, digest = row
    try:
        text = zlib.decompress(packed)
    except zlib.error as error:
        raise WorldError(f"damaged entry: {error}", where=f"{where} {tool}", got=key, fix=fix) from error
    if row_digest(tool, key, status, given, text) != digest:
        raise WorldError("entry differs from its digest", where=f"{where} {tool}", got=key, fix=fix)
    return text


@contextmanager
def files_as_world_errors(what: str, where: Path) -> Generator[None, None, None]:
    """Turn what SQLite and the file system raise (a full disk, no right to write, a broken file) into a WorldError."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        fix = "check the path, the rights to write there and the free space"
        raise WorldError(f"{what}: {error}", where=str(where), fix=fix) from error


def content_hash(digests: Iterable[bytes]) -> str:
    """Return the hash of a whole world from its rows' digests in the order of (tool, key)."""
    whole = sha256()
    for digest in digests:
        whole.update(digest)
    return whole.hexdigest()
