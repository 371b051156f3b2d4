"""Pickles of plain containers, and nothing else.

Users of the reference keep their rows in pickles. Unpickling runs whatever the file names, so this reader
resolves no global at all: a pickle of dicts, lists, tuples, text, numbers, booleans and None loads, any other is
refused with the name of the global it wanted. Tuples become lists, as in JSON.
"""
from __future__ import annotations

import io
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from environment.core.errors import DataError

_DAMAGED = (
    pickle.UnpicklingError, EOFError, ValueError, IndexError, KeyError, TypeError,
    AttributeError, UnicodeDecodeError, MemoryError, OverflowError, RecursionError, NotImplementedError,
)  # fmt: skip
"""What the unpickler raises on bytes that are no pickle, or half of one."""


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler that can build containers and scalars only."""

    def __init__(self, data: bytes, where: str) -> None:
        super().__init__(io.BytesIO(data))
        self._where = where

    def find_class(self, module_name: str, global_name: str, /) -> NoReturn:
        """Refuse; a pickle that asks for a global asks to run code."""
        raise DataError(
            "the pickle asks for a Python object, which could run code when loaded; it was not loaded",
            where=self._where,
            got=f"{module_name}.{global_name}",
            expected="dicts, lists, text, numbers, booleans and None only",
            fix="write the rows as JSON Lines (.jsonl), or pickle plain containers",
        )

    def persistent_load(self, pid: object, /) -> NoReturn:
        """Refuse references to objects outside the file."""
        raise DataError(
            "the pickle refers to an object outside the file; it was not loaded", where=self._where, got=pid
        )


def load_plain(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a pickled list of dicts.

    Raises:
        DataError: the file is missing, damaged, holds anything but plain containers, or is no list of dicts.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"the file can't be read ({error.strerror})", where=str(path)) from error
    try:
        value = plain(_PlainUnpickler(data, str(path)).load(), str(path))
    except _DAMAGED as error:
        raise DataError(
            "the file is no readable pickle", where=str(path), got=str(error) or type(error).__name__
        ) from error
    rows: object = value
    if not isinstance(rows, list):
        raise DataError(
            "the pickle holds no list", where=str(path), got=type(rows).__name__, expected="a list of records"
        )
    return list(_dicts(rows, path))


def dump_plain(rows: list[dict[str, Any]]) -> bytes:
    """Return the pickle of plain rows; the bytes depend on the rows alone."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, protocol=4)
    pickler.fast = True  # no memo: equal rows give equal bytes, however their strings are shared
    pickler.dump(plain(rows, "rows"))
    return buffer.getvalue()


def plain(value: Any, where: str) -> Any:
    """Return a copy of `value` with tuples as lists; raise DataError where it holds anything else than JSON can."""
    if value is None or type(value) in (str, int, float, bool):
        return value
    if isinstance(value, list | tuple):
        items: Any = value
        return [plain(item, where) for item in items]
    if isinstance(value, dict):
        pairs: Any = value
        return {_key(key, where): plain(item, where) for key, item in pairs.items()}
    raise DataError("a value is not plain", where=where, got=type(value).__name__, expected="what JSON can hold")


def _key(key: object, where: str) -> str:
    if isinstance(key, str):
        return key
    raise DataError("a dict key is not text", where=where, got=key)


def _dicts(rows: list[Any], path: Path) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DataError(
                "an item is no record", where=f"{path} item {number}", got=type(row).__name__, expected="a dict"
            )
        yield row
