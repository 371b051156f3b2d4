"""The world of ComplexFuncBench: what its own file records, without any network.

    call ─► recorded in this very entry? ─► else recorded in any entry, or in the world given ─► else a miss

An entry's own observations go first: the same call may have been answered otherwise on the day of another entry.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from environment.cache.build import import_rows, status_of
from environment.cache.sources import read_source
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import json_key
from environment.core.dispatch import World, answer_call, waits
from environment.core.schema import ToolSchema
from evaluation.suites.complexfuncbench.entries import Entry


class EntryWorld:
    """The world of one entry. It has no state, so rollouts of one entry may share it."""

    def __init__(self, entry: Entry, shared: World) -> None:
        """Look the entry's own answers up first, then those of `shared`."""
        self.schemas: Mapping[str, ToolSchema] = entry.schemas
        self._shared = shared
        recorded = [call for call in entry.calls if call.packed is not None]
        self._own = {entry.key(call.name, call.arguments): call for call in reversed(recorded)}

    @property
    def waits(self) -> bool:
        """Whether calls may wait for another machine."""
        return waits(self._shared)

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the answer to one call."""

        def look_up(schema: ToolSchema, canonical: dict[str, JsonValue]) -> WorldAnswer | None:
            known = self._own.get((name, json_key(canonical)))
            if known is not None:
                response = known.response
                return WorldAnswer(status_of(response), response)
            answer = self._shared.call(name, arguments)
            recorded = answer.status in (ResultStatus.OK, ResultStatus.UPSTREAM_ERROR)
            return answer if recorded else None

        return answer_call(self.schemas, name, arguments, look_up)


def all_schemas(entries: Iterable[Entry]) -> dict[str, ToolSchema]:
    """Return the tools of all entries by name, the first of each name."""
    known: dict[str, ToolSchema] = {}
    for entry in entries:
        for name, schema in entry.schemas.items():
            known.setdefault(name, schema)
    return known


def import_gold(data: Path, out: Path, schemas: Mapping[str, ToolSchema]) -> None:
    """Make every gold observation of a ComplexFuncBench file the recorded world `out`."""
    import_rows(out, read_source(data), schemas)
