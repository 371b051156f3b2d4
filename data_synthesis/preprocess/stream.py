"""Streaming records through a layout into parquet: memory that doesn't grow with the rows, whole file or none."""
from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from data_synthesis.preprocess.defects import defects
from data_synthesis.preprocess.ids import Fingerprints, Ids, SeenIds
from data_synthesis.preprocess.report import PreprocessReport, label, reason
from data_synthesis.records import read_each
from data_synthesis.tasks import task_from_record
from data_synthesis.whole import whole_file
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Task

BATCH, LARGE_BATCH = 256, 4096
"""Rows held in memory at a time, which are those of a row group, in a small file and further on in a large one."""
_SMALL_FILE = 1024
Row = TypeVar("Row")


class Layout(Protocol[Row]):
    """Columns of a parquet, and how a task becomes a row of them."""

    schema: pa.Schema

    def row(self, task: Task, index: int, record: Mapping[str, Any]) -> tuple[Row, int]:
        """Return a row and the characters of its text; DataError counts the record as bad."""
        ...

    def table(self, rows: list[Row]) -> pa.Table:
        """Return rows as columns."""
        ...


@dataclass(frozen=True)
class Wanted:
    """Which records are used, and how strictly."""

    filter_success: bool = True
    """Leave out records whose `overall_success` is false."""
    max_tools: int | None = None
    """At most so many tools on offer; the gold chain's always stay."""
    strict: bool = False
    """DataError, and no file, where any record is bad."""


def convert_file(
    source: Path, output: Path, layout: Layout[Row], schemas: Mapping[str, ToolSchema], wanted: Wanted
) -> PreprocessReport:
    """Write one parquet row for every usable record of `source`, `.jsonl` or `.pkl`.

    Raises:
        DataError: nothing could be used, or `wanted.strict` and a record is bad; no file is written then.
    """
    for kind in (Fingerprints, SeenIds):
        report = PreprocessReport(str(output))
        with closing(kind()) as seen, contextlib.suppress(_CameTwice):
            _write(_Rows(source, layout, schemas, report, wanted, seen), output)
            return report
    raise AssertionError("SeenIds is always settled")


class _CameTwice(Exception):
    """An id came twice and it isn't known where: the file is to be made again."""


def _write(rows: _Rows[Row], output: Path) -> None:
    with whole_file(output) as part:
        with pq.ParquetWriter(part, rows.layout.schema) as writer:
            for batch in _batches(rows):
                writer.write_table(rows.layout.table(batch))
        if not rows.seen.settled():
            raise _CameTwice
        rows.report.require(rows.wanted.strict)


@dataclass
class _Rows(Generic[Row]):
    """The rows of a file, counted as they pass."""

    source: Path
    layout: Layout[Row]
    schemas: Mapping[str, ToolSchema]
    report: PreprocessReport
    wanted: Wanted
    seen: Ids

    def __iter__(self) -> Iterator[Row]:
        report = self.report
        for number, record in enumerate(read_each(self.source), start=1):
            report.read += 1
            if isinstance(record, DataError):
                report.add_bad(label(self.source, number, None), reason(record))
            elif self.wanted.filter_success and record.get("overall_success") is False:
                report.unsuccessful += 1
            else:
                try:
                    row = self._row(record, number)
                except DataError as error:
                    where = label(self.source, number, record.get("workflow_id"))
                    report.add_bad(where, reason(error).removeprefix(f"{where}: "))
                else:
                    yield row

    def _row(self, record: Mapping[str, Any], number: int) -> Row:
        task = task_from_record(record, self.schemas, max_tools=self.wanted.max_tools, where="record")
        try:
            row, length = self.layout.row(task, self.report.written, record)
        except orjson.JSONEncodeError as error:  # half a surrogate pair, a number beyond 64 bits
            raise DataError(f"the record can't be written as JSON ({error})") from error
        before = self.seen.first(task.id, number)
        if before is not None:
            raise DataError(f"the same id as record {before}", got=task.id, fix="give every record an id of its own")
        self._count(task, length)
        if not _ours(record):
            self.report.add_defects(label(self.source, number, task.pattern), defects(record, task, self.schemas))
        return row

    def _count(self, task: Task, length: int) -> None:
        report = self.report
        report.written += 1
        report.longest_prompt = max(report.longest_prompt, length)
        report.patterns[task.pattern] += 1
        report.domains[task.domain] += 1
        report.steps[len(task.steps)] += 1
        report.edges += sum([len(step.edges) for step in task.steps])


def _ours(record: Mapping[str, Any]) -> bool:
    """Return whether a record was made here, where it was held to all of this already."""
    metadata = record.get("metadata")
    return isinstance(metadata, dict) and "record_version" in metadata


def _batches(rows: Iterable[Row]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    size, yielded = BATCH, 0
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch, yielded = [], yielded + size
            size = BATCH if yielded < _SMALL_FILE else LARGE_BATCH
    if batch:
        yield batch
