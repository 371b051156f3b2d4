"""Records: one workflow instance a row, in `.jsonl` or `.pkl`.

    record = {id, query, workflow_id, workflow_pattern, domain, tools, answer, overall_success, metadata,
              steps: [{step, ground_truth: {function, arguments}, candidate_tools, depends_on,
                       edges: [{argument, producer, field}], execution_result: {..., execution_result, success}}]}

The keys of the reference's records are kept; `id`, `domain`, `tools`, `answer` and `edges` are ours and may be absent.
JSON Lines is streamed; a pickle is read by `plain_pickle`. Files appear whole or not at all.
"""
from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from data_synthesis.plain_pickle import dump_plain, load_plain
from data_synthesis.whole import whole_file
from environment.core.errors import DataError

RECORD_VERSION = 1
"""Version of our keys, written into `metadata.record_version`."""
PICKLE_SUFFIXES = (".pkl", ".pickle")
"""Names that are read and written as pickles."""
JSONL_SUFFIXES = (".jsonl", ".ndjson", ".json")
"""Names that are read and written as JSON Lines."""


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the raw records of a `.jsonl` or `.pkl` file; DataError names file, line and what is wrong."""
    for record in read_each(path):
        if isinstance(record, DataError):
            raise record
        yield record


def read_each(path: Path) -> Iterator[dict[str, Any] | DataError]:
    """Yield each record of a file, or what is wrong with its line, so that one bad line costs one record.

    Raises:
        DataError: the file as a whole can't be read.
    """
    return iter(load_plain(path)) if _is_pickle(path) else _read_jsonl(path)


def write_records(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    """Write records to `.jsonl` or `.pkl` by the name of the file; return how many."""
    write = _write_pickle if _is_pickle(path) else _write_jsonl
    with whole_file(path) as part:
        return write(part, rows)


def _is_pickle(path: Path) -> bool:
    if path.suffix in PICKLE_SUFFIXES:
        return True
    if path.suffix in JSONL_SUFFIXES:
        return False
    raise DataError("the kind of file is unknown", where=str(path), got=path.suffix, expected=".jsonl or .pkl")


def _read_jsonl(path: Path) -> Iterator[dict[str, Any] | DataError]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                line = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
                if line and not line.isspace():
                    yield _row(line, path, number)
    except OSError as error:
        raise DataError(f"the file can't be read ({error.strerror})", where=str(path)) from error


def _row(line: bytes, path: Path, number: int) -> dict[str, Any] | DataError:
    try:
        row: object = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        return DataError("the line is no JSON", where=f"{path} line {number}", got=str(error))
    if isinstance(row, dict):
        return row
    where = f"{path} line {number}"
    return DataError("the line is no record", where=where, got=type(row).__name__, expected="a JSON object")


def _write_jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    count = 0
    with path.open("wb") as out:
        for row in rows:
            out.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def _write_pickle(path: Path, rows: Iterable[dict[str, Any]]) -> int:
    held = list(rows)
    path.write_bytes(dump_plain(held))
    return len(held)
