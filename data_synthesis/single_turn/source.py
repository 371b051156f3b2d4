"""Reading rows from a set on disk, one at a time: JSON Lines, a JSON array of any size, or parquet."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from data_synthesis.single_turn.calls import read_json
from data_synthesis.single_turn.model import Drop
from environment.cache.json_stream import read_array
from environment.core.errors import DataError

BATCH = 1024
"""Rows of a parquet file decoded at a time."""

Row = tuple[str, dict[str, Any] | Drop]
"""(file and place, the row or why it is none)."""


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file in order; a line that is no row is yielded as the reason.

    Raises:
        DataError: the file can't be read, is of an unknown kind, or is a JSON array that breaks off.
    """
    if not path.is_file():
        found = "a folder" if path.is_dir() else None
        raise DataError("no such file", where=str(path), got=found, expected=".jsonl, .json or .parquet")
    if path.suffix == ".parquet":
        return _parquet(path)
    if path.suffix not in (".jsonl", ".json", ".ndjson"):
        raise DataError(
            "the kind of file is unknown", where=str(path), got=path.suffix, expected=".jsonl, .json or .parquet"
        )
    return _array(path) if _first_character(path) == "[" else _lines(path)


def _first_character(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4096)
    return head.decode("utf-8-sig", "replace").lstrip()[:1]


def _lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path.name} line {number}", _line(line)


def _line(line: bytes) -> dict[str, Any] | Drop:
    try:
        row = read_json(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Drop("not_utf8", str(error))
    except Drop as drop:
        return drop
    return _object(row)


def _array(path: Path) -> Iterator[Row]:
    for number, row in enumerate(read_array(path), 1):
        yield f"{path.name} item {number}", _object(row)


def _parquet(path: Path) -> Iterator[Row]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(f"the file is no readable parquet ({error})", where=str(path)) from error
    number = 0
    for batch in file.iter_batches(BATCH):
        for row in batch.to_pylist():
            number += 1
            yield f"{path.name} row {number}", row


def _object(row: Any) -> dict[str, Any] | Drop:
    return row if isinstance(row, dict) else Drop("no_object", f"a row is an object, got {type(row).__name__}")
