"""Which world a process's tools act in: opened once, found by path."""
from __future__ import annotations

import functools
import os
from pathlib import Path

from environment.booking.schemas import load_schemas
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.server import opening
from environment.session.world import World

WORLD = "TOOL_RL_WORLD"
"""Environment variable that names the recorded world where a tool's configuration does not; the rl stage sets it."""


@functools.lru_cache(maxsize=4)
def open_world(path: str, schema_file: str | None = None) -> World:
    """Open a world once a process: its file, or the server that a reference names."""
    return opening.open_world(Path(path), load_schemas(Path(schema_file) if schema_file else None))


def world_path(configured: str | None) -> str:
    """Return the world's path from a tool's configuration or the environment; ConfigError where neither has one."""
    path = configured or os.environ.get(WORLD)
    if not path:
        raise ConfigError(
            "the tools don't know which world to act in",
            where="tool config, key `world`",
            expected="the path of a recorded world",
            fix=f"set {WORLD}=RUN/world.db, or give every tool `world: PATH` (make one with `tool-rl world`)",
        )
    return path


@functools.lru_cache(maxsize=4)
def known_tools(schema_file: str | None = None) -> dict[str, ToolSchema]:
    """Return the tools of a schema file by name, of our own file where none is given."""
    return load_schemas(Path(schema_file) if schema_file else None)
