"""Opening a world by its file: a recorded one, or a reference to one that a server answers for.

A reference is a small JSON file, so that everything that takes the path of a world takes a served one as well:

    {"tool_rl_world": 1, "url": "http://10.0.0.5:8400", "content_hash": "5f1c…", "entries": 9314}

The token is not in it: it stands in the environment of whoever opens it. A server that answers for another world than
the one the reference was made for is refused, for what was prepared on the one can't be judged on the other.
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from environment.booking.schemas import load_schemas
from environment.cache.store import CachedWorld
from environment.core.errors import WorldError
from environment.core.schema import ToolSchema
from environment.server.client import HttpWorld

TOKEN_VARIABLE = "TOOL_RL_SERVE_TOKEN"
"""Environment variable with the token clients must send; a command line would show it to everyone on the machine."""
VERSION = 1
_MARK = "tool_rl_world"
_LARGEST = 1 << 16
_FIX = "make it again: the world stage of the main job with tool_rl.world.kind=http"


def open_world(path: Path, schemas: Mapping[str, ToolSchema] | None = None) -> CachedWorld | HttpWorld:
    """Open the world at `path` with the BookingAPI schemas or those given.

    Raises:
        WorldError: it is neither a recorded world nor a reference, or its server can't be reached or has another world.
    """
    known = load_schemas() if schemas is None else schemas
    reference = _reference(Path(path))
    if reference is None:
        return CachedWorld.open(path, known)
    world = connect(reference["url"], known)
    if world.content_hash != reference["content_hash"]:
        what, fix = "the server answers for another world", f"serve the world it was made for, or {_FIX}"
        expected = f"content hash {reference['content_hash']}, as {path} has it"
        raise WorldError(what, where=world.url, got=world.content_hash, expected=expected, fix=fix)
    return world


def write_reference(path: Path, url: str, schemas: Mapping[str, ToolSchema]) -> dict[str, Any]:
    """Write a reference to the world that the server at `url` answers for now; return it.

    Raises:
        ConfigError: `url` is no address of a server.
        WorldError: the server can't be reached, or lacks tools of the schemas.
    """
    world = connect(url, schemas)
    row = {_MARK: VERSION, "url": url, "content_hash": world.content_hash, "entries": world.entry_count}
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_bytes(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
    half.replace(path)
    return row


def connect(url: str, schemas: Mapping[str, ToolSchema]) -> HttpWorld:
    """Return the world of a server, once it has said which that is."""
    world = HttpWorld(url, schemas, os.environ.get(TOKEN_VARIABLE) or None)
    said = world.description()
    missing = sorted(set(schemas) - {str(name) for name in said["tools"]})
    if missing:
        raise WorldError("the server's world lacks tools", where=url, expected=", ".join(missing[:5]))
    if not isinstance(said.get("content_hash"), str):
        raise WorldError("the server's world is no recorded one", where=url, fix="tool-rl serve a recorded world")
    world.content_hash, world.entry_count = said["content_hash"], int(said.get("entries") or 0)
    return world


def _reference(path: Path) -> dict[str, Any] | None:
    """Return what a reference says; None where the file is something else."""
    if not path.is_file() or path.stat().st_size > _LARGEST:
        return None
    text = path.read_bytes()
    if not text.lstrip().startswith(b"{"):
        return None
    try:
        row: dict[str, Any] = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise WorldError(f"a broken reference to a served world: {error}", where=str(path), fix=_FIX) from error
    if row.get(_MARK) != VERSION:
        raise WorldError("no reference to a served world", where=str(path), expected=f"{_MARK}: {VERSION}", fix=_FIX)
    if not all(isinstance(row.get(name), str) for name in ("url", "content_hash")):
        raise WorldError("a reference without url and content_hash", where=str(path), fix=_FIX)
    return row
