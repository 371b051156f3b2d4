"""Making a recorded world: from the simulator, or from what others have recorded (`sources`)."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, cast

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.plan import planned_calls
from environment.cache.report import BuildReport
from environment.cache.sources import Recorded, Row, Unusable, record_rows
from environment.cache.writer import CacheWriter
from environment.core.calls import JsonValue, ResultStatus
from environment.core.errors import nearest_name
from environment.core.schema import ToolSchema
from environment.core.shapes import Shapes


def build_seed_cache(
    path: Path,
    seed: int = 0,
    size: WorldSize | None = None,
    *,
    linked: bool = False,
    more: Callable[[SeedWorld], Iterable[tuple[str, dict[str, JsonValue]]]] | None = None,
) -> BuildReport:
    """Record the simulated world of a seed and size at `path`; the same arguments, the same content hash.

    Args:
        path: the file to write.
        seed: of the world.
        size: of the world.
        linked: as `SeedWorld` takes it.
        more: gives calls to record besides the planned ones.
    """
    world = SeedWorld(seed, size, linked=linked)
    with CacheWriter(path, world.schemas) as writer:
        for tool, arguments in chain(planned_calls(world), more(world) if more else ()):
            answer = world.call(tool, arguments)
            if answer.status is ResultStatus.OK:
                writer.add(tool, arguments, answer.status, answer.value, world.provenance)
            else:
                writer.skip(f"{tool}: {answer.status}")
    return writer.report


def import_records(
    path_out: Path,
    records: Iterable[Mapping[str, Any]],
    schemas: Mapping[str, ToolSchema] | None = None,
    provenance: str = "records",
) -> BuildReport:
    """Make the responses stored in training records the world at `path_out`; see `import_rows`."""
    rows = (
        row
        for number, record in enumerate(records)
        for row in record_rows(record, f"{provenance} {record.get('id') or record.get('workflow_id') or ''} #{number}")
    )
    return import_rows(path_out, rows, schemas)


def import_rows(
    path_out: Path,
    rows: Iterable[Row],
    schemas: Mapping[str, ToolSchema] | None = None,
    *,
    extend: bool = False,
    drop_odd: bool = False,
) -> BuildReport:
    """Make recorded calls the world at `path_out`.

    Rows that can't be used, and calls of unknown tools, are left out; the report counts them by reason and names the
    first of each. Where two rows hold different answers to one call, the first stays and the report names both. An
    answer that does not have the shape its tool states is kept and reported: gold rows may be built on it.

    Args:
        extend: keep what the file holds already, where it is there, instead of starting a new one.
        drop_odd: leave out answers of another shape.

    Raises:
        DataError: a source broke off; the world is not written.
        WorldError: nothing to write, or the file can't be written.
    """
    known = schemas or load_schemas()
    origin, shapes = path_out if extend and path_out.exists() else None, Shapes(known)
    with CacheWriter(path_out, known, start_from=origin) as writer:
        for row in rows:
            if isinstance(row, Unusable):
                writer.skip(row.reason, row.place)
            elif row.tool not in known:
                near = nearest_name(row.tool, known)
                writer.skip(f"unknown tool {row.tool}" + (f", nearest {near}" if near else ""), row.source)
            else:
                _add(writer, row, shapes, drop_odd=drop_odd)
    return writer.report


def _add(writer: CacheWriter, row: Recorded, shapes: Shapes, *, drop_odd: bool) -> None:
    status = status_of(row.response)
    problem = shapes.problem(row.tool, row.response) if status is ResultStatus.OK else None
    if problem is not None:
        reason, place = f"no answer of {row.tool}", f"{row.source}: {problem}"
        if drop_odd:
            writer.skip(reason, place)
            return
        writer.note_odd(reason, place)
    writer.add(row.tool, row.arguments, status, row.response, row.source)


def status_of(response: JsonValue) -> ResultStatus:
    """Return what a stored response says of its call: ok, or that the service answered with an error."""
    answer: dict[str, Any] = cast("dict[str, Any]", response) if isinstance(response, dict) else {}
    failed = "error" in answer or answer.get("status") is False
    return ResultStatus.UPSTREAM_ERROR if failed else ResultStatus.OK
