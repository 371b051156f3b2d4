"""Streaming records through a converter into parquet of a fixed schema: constant memory, whole file or none."""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data_synthesis.preprocess.report import BadRow, PreprocessReport, label, reason
from data_synthesis.records import read_records
from data_synthesis.tasks import task_from_record
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Task

BATCH = 256
"""Rows held in memory at a time."""

Convert = Callable[[Task, int], tuple[dict[str, Any], int]]
"""(task, running index) → (row, characters of its text)."""


def convert_file(
    source: Path,
    output: Path,
    schema: pa.Schema,
    convert: Convert,
    schemas: Mapping[str, ToolSchema],
    *,
    filter_success: bool = True,
    max_tools: int | None = None,
    strict: bool = False,
) -> PreprocessReport:
    """Write one parquet row for every usable record of `source`.

    Args:
        source: `.jsonl` or `.pkl`.
        output: the parquet file.
        schema: its columns.
        convert: makes a row of a task; a DataError it raises counts the record as bad.
        schemas: the tools.
        filter_success: leave out records whose `overall_success` is false.
        max_tools: at most so many tools on offer.
        strict: raise on the first look back if any record was bad; nothing is written then.

    Raises:
        DataError: nothing could be used, or `strict` and a record is bad.
    """
    report = PreprocessReport(str(output))
    rows = _rows(source, convert, schemas, report, filter_success, max_tools)
    output.parent.mkdir(parents=True, exist_ok=True)
    part = output.with_name(f".{output.name}.{os.getpid()}.part")
    try:
        with pq.ParquetWriter(part, schema) as writer:
            for batch in _batches(rows):
                writer.write_table(pa.Table.from_pylist(batch, schema=schema))
        report.require(strict)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
    return report


def _rows(
    source: Path,
    convert: Convert,
    schemas: Mapping[str, ToolSchema],
    report: PreprocessReport,
    filter_success: bool,
    max_tools: int | None,
) -> Iterator[dict[str, Any]]:
    for number, record in enumerate(read_records(source), start=1):
        report.read += 1
        where = label(source, number, record.get("workflow_id"))
        if filter_success and record.get("overall_success") is False:
            report.unsuccessful += 1
            continue
        try:
            task = task_from_record(record, schemas, max_tools=max_tools, where=where)
            row, length = convert(task, report.written)
        except DataError as error:
            report.bad.append(BadRow(where, reason(error).removeprefix(f"{where}: ")))
            continue
        report.written += 1
        report.edges += sum(len(step.edges) for step in task.steps)
        report.longest_prompt = max(report.longest_prompt, length)
        yield row


def _batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch: list[dict[str, Any]] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
