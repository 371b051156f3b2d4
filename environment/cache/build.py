"""Making a recorded world: from the simulator, or from the responses stored in records.

A record is the reference's: `steps[].execution_result = {function, arguments, execution_result, success}`.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.plan import planned_calls
from environment.cache.report import BuildReport
from environment.cache.writer import CacheWriter
from environment.core.calls import JsonValue, ResultStatus
from environment.core.schema import ToolSchema


def build_seed_cache(path: Path, seed: int = 0, size: WorldSize | None = None) -> BuildReport:
    """Record the simulated world of a seed and size at `path`; same seed and size, same content hash."""
    world = SeedWorld(seed, size)
    provenance = f"seed-world seed={seed}"
    with CacheWriter(path, world.schemas) as writer:
        for tool, arguments in planned_calls(world):
            answer = world.call(tool, arguments)
            if answer.status is ResultStatus.OK:
                writer.add(tool, arguments, answer.status, answer.value, provenance)
            else:
                writer.skip(f"{tool}: {answer.status}")
    return writer.report


def import_records(
    path_out: Path,
    records: Iterable[Mapping[str, Any]],
    schemas: Mapping[str, ToolSchema] | None = None,
    provenance: str = "records",
) -> BuildReport:
    """Make the responses stored in records the world at `path_out`.

    Steps without a response or of an unknown tool are left out and counted in `skipped`. Where two records store
    different responses to one call, the first stays and the report names the call.
    """
    known = schemas or load_schemas()
    with CacheWriter(path_out, known) as writer:
        for number, record in enumerate(records):
            for tool, arguments, response in _responses(record):
                if tool not in known:
                    writer.skip(f"unknown tool {tool}")
                elif response in ("", None):
                    writer.skip("no response stored")
                else:
                    source = f"{provenance} {record.get('id') or record.get('workflow_id') or ''} #{number}"
                    writer.add(tool, arguments, _status(response), response, source)
    return writer.report


def _responses(record: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, JsonValue], JsonValue]]:
    for step in cast("Iterable[dict[str, Any]]", record.get("steps") or ()):
        result = step.get("execution_result")
        if isinstance(result, dict):
            held = cast("dict[str, Any]", result)
            call = held if "function" in held else cast("dict[str, Any]", step.get("ground_truth") or {})
            yield str(call.get("function")), dict(call.get("arguments") or {}), held.get("execution_result")


def _status(response: JsonValue) -> ResultStatus:
    answer: dict[str, Any] = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    failed = "error" in answer or answer.get("status") is False
    return ResultStatus.UPSTREAM_ERROR if failed else ResultStatus.OK
