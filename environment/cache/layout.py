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
from collections.abc import Iterable
from hashlib import blake2b, sha256
from typing import Any

import orjson

from environment.core.calls import JsonValue

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


def content_hash(digests: Iterable[bytes]) -> str:
    """Return the hash of a whole world from its rows' digests in the order of (tool, key)."""
    whole = sha256()
    for digest in digests:
        whole.update(digest)
    return whole.hexdigest()
