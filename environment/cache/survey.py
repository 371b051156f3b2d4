"""Looking at recorded worlds as a whole: counts and sizes, differences of two, and the way back to JSON."""
from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from environment.cache.layout import files_as_world_errors
from environment.cache.store import CachedWorld, Recording

_ALIKE = 0.6
"""Likeness, 0 to 1, below which a key is no near one."""


@dataclass(frozen=True)
class Difference:
    """One call on which two worlds differ."""

    tool: str
    key: str
    """Canonical arguments as JSON text."""
    kind: str
    """`only first`, `only second`, or `another answer`."""


def statistics(world: CachedWorld) -> dict[str, Any]:
    """Return a plain JSON object: entries by tool and status, sizes of the answers and the file in bytes, sources."""
    tools: dict[str, dict[str, Any]] = {}
    for tool in world.tools():
        sizes: list[int] = []
        statuses: dict[str, int] = {}
        for recording in world.recordings(tool):
            sizes.append(len(recording.text))
            statuses[recording.status.value] = statuses.get(recording.status.value, 0) + 1
        sizes.sort()
        spread = {"median": sizes[len(sizes) // 2], "p90": sizes[len(sizes) * 9 // 10], "largest": sizes[-1]}
        tools[tool] = {"entries": len(sizes), **statuses, "answer_bytes": spread}
    return {
        "path": str(world.path),
        "content_hash": world.content_hash,
        "entries": world.entry_count,
        "file_bytes": world.path.stat().st_size,
        "tools": tools,
        "tools_without_entries": [name for name in world.schemas if name not in tools],
        "sources": world.sources(),
    }


def nearest_calls(world: CachedWorld, tool: str, key: str, count: int = 3) -> list[str]:
    """Return the recorded keys of a tool that are most like `key`, best first: for people, who look for a slip.

    Models are not told: a world that hints at what it has recorded can be searched instead of reasoned about.
    """
    matcher = SequenceMatcher(b=key, autojunk=False)

    def likeness(other: str) -> float:
        matcher.set_seq1(other)
        return matcher.ratio() if matcher.quick_ratio() > _ALIKE else 0.0

    rated = ((likeness(other), other) for other in world.keys(tool))
    return [other for rate, other in heapq.nlargest(count, rated) if rate > _ALIKE]


def differences(first: CachedWorld, second: CachedWorld) -> Iterator[Difference]:
    """Yield where two worlds differ, tool by tool in the order of the keys, in memory that does not grow."""
    for tool in sorted({*first.tools(), *second.tools()}):
        yield from _merged(tool, first.recordings(tool), second.recordings(tool))


def _merged(tool: str, first: Iterator[Recording], second: Iterator[Recording]) -> Iterator[Difference]:
    left, right = next(first, None), next(second, None)
    while left is not None or right is not None:
        if right is None or (left is not None and left.key < right.key):
            assert left is not None
            yield Difference(tool, left.key, "only first")
            left = next(first, None)
        elif left is None or right.key < left.key:
            yield Difference(tool, right.key, "only second")
            right = next(second, None)
        else:
            if (left.status, left.text) != (right.status, right.text):
                yield Difference(tool, left.key, "another answer")
            left, right = next(first, None), next(second, None)


def export_json(world: CachedWorld, path: Path) -> int:
    """Write a world as `{tool: [{arguments, response}, …]}`, the reference's layout; return how many calls.

    Such a file can be imported again to the same answers; it has no place for statuses, digests or sources.
    """
    half = path.with_name(f".{path.name}.part")
    with files_as_world_errors("can't write the export", path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            count = _write_json(world, half)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
    return count


def _write_json(world: CachedWorld, path: Path) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for number, tool in enumerate(world.tools()):
            file.write(",\n" if number else "{\n")
            file.write(f"{json.dumps(tool)}: [")
            for position, recording in enumerate(world.recordings(tool)):
                file.write(",\n " if position else "\n ")
                file.write(f'{{"arguments": {recording.arguments}, "response": {recording.text.decode()}}}')
                count += 1
            file.write("\n]")
        file.write("\n}\n")
    return count
