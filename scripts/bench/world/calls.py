"""The world that is measured, and the calls that are made of it."""
from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld

SIZE = WorldSize(cities=45)
"""A world of a little more than 100 000 recorded answers; all else as the simulator has it."""
SEED = 11
Call = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Built:
    """A world on disk."""

    path: Path
    entries: int
    content_hash: str
    seconds: float


def build(path: Path) -> Built:
    """Build the world of `SEED` and `SIZE`."""
    began = time.perf_counter()
    report = build_seed_cache(path, SEED, SIZE)
    return Built(path, report.entries, report.content_hash, time.perf_counter() - began)


def recorded_calls(path: Path, number: int, seed: int = 0) -> list[Call]:
    """Return calls that are recorded, drawn evenly over all entries, each once, shuffled."""
    chance = random.Random(seed)
    with CachedWorld.open(path) as world:
        share = min(1.0, (1.1 * number + 100) / world.entry_count)
        found = [
            (tool, orjson.loads(row.arguments))
            for tool in world.tools()
            for row in world.recordings(tool)
            if chance.random() < share
        ]
    chance.shuffle(found)
    return found[:number]


def turn_text(call: Call) -> str:
    """Return a call as a model writes it."""
    name, arguments = call
    return f'<tool_call>{orjson.dumps({"name": name, "arguments": arguments}).decode()}</tool_call>'
