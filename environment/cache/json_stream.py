"""Read `{name: [item, item, …], …}` item by item, in memory that does not grow with the file.

Each item is decoded by the standard library's scanner at its place in a window of the file; the window slides on once
an item is read and grows only for an item that is longer than it.
"""
from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from environment.core.errors import DataError

WINDOW = 1 << 20
"""Characters read at a time."""
LARGEST_ITEM = 1 << 26
"""An item that is not complete after so many characters is taken for a broken file."""
_AFTER_VALUE = frozenset(",]}: \t\r\n")
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Item:
    """One element of one list."""

    name: str
    """Key of the list."""
    number: int
    """Position in the list, from 0."""
    value: Any


def read_lists(path: Path, window: int = WINDOW) -> Iterator[Item]:
    """Yield the items of a JSON object of lists, in file order; a name that comes twice is read twice.

    Raises:
        DataError: the text is not such an object; it names the list, the item and the character. What came before has
            been yielded.
    """
    with path.open(encoding="utf-8-sig") as file:
        scan = _Scan(path, file, window)
        try:
            yield from _lists(scan)
        except UnicodeDecodeError as error:
            raise scan.wrong(f"not UTF-8: {error.reason}") from error


def read_array(path: Path, window: int = WINDOW) -> Iterator[Any]:
    """Yield the items of a JSON array; DataError, after what came before, where the text is none."""
    with path.open(encoding="utf-8-sig") as file:
        scan = _Scan(path, file, window)
        scan.name = "the array"
        try:
            scan.expect("[")
            yield from _items(scan)
            scan.end()
        except UnicodeDecodeError as error:
            raise scan.wrong(f"not UTF-8: {error.reason}") from error


def _items(scan: _Scan) -> Iterator[Any]:
    """Yield the values up to the bracket that closes a list."""
    if scan.take("]"):
        return
    while True:
        yield scan.value()
        scan.number += 1
        if not scan.take(","):
            break
    scan.expect("]")


def _lists(scan: _Scan) -> Iterator[Item]:
    scan.expect("{")
    if scan.take("}"):
        return scan.end()
    while True:
        scan.name, scan.number = None, 0
        scan.name = name = _text(scan)
        scan.expect(":")
        scan.expect("[")
        for value in _items(scan):
            yield Item(name, scan.number, value)
        if not scan.take(","):
            break
    scan.expect("}")
    return scan.end()


def _text(scan: _Scan) -> str:
    found = scan.value()
    if not isinstance(found, str):
        raise scan.wrong("expected a name")
    return found


class _Scan:
    """A sliding window over the text."""

    def __init__(self, path: Path, file: TextIO, window: int) -> None:
        self.name: str | None = None
        self.number = 0
        self._path, self._file, self._window = path, file, window
        self._text, self._at, self._passed, self._over = "", 0, 0, False
        self._decode = json.JSONDecoder(parse_constant=_refuse).raw_decode

    def value(self) -> Any:
        """Decode the value that begins here."""
        self._skip()
        size = self._window
        while True:
            try:
                found, end = self._decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._over or not self._cut_off(error):
                    raise self.wrong(error.msg) from error
            except RecursionError as error:
                raise self.wrong("nested too deeply") from error
            except ValueError as error:
                raise self.wrong(str(error)) from error
            else:
                if self._over or self._complete(end):
                    self._at = end
                    return found
            self._more(size)
            size *= 2

    def _cut_off(self, error: json.JSONDecodeError) -> bool:
        """Tell whether more text could mend the error: it lies where the window ends, or in a string left open."""
        at_end = error.pos >= len(self._text) - 16 or error.msg.startswith("Unterminated string")
        return at_end and len(self._text) - self._at <= LARGEST_ITEM

    def _complete(self, end: int) -> bool:
        """Tell whether a value that was read up to `end` ends there: a number may go on beyond the window."""
        return self._text[end : end + 1] in _AFTER_VALUE or end + 32 < len(self._text)

    def take(self, mark: str) -> bool:
        """Step over a mark if it comes next."""
        self._skip()
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def expect(self, mark: str) -> None:
        """Step over a mark that must come next."""
        if not self.take(mark):
            raise self.wrong(f"expected {mark!r}")

    def end(self) -> None:
        """Make sure that nothing follows."""
        self._skip()
        if self._at < len(self._text):
            raise self.wrong("text after the end of the object")

    def wrong(self, what: str) -> DataError:
        """Return an error that says where reading has come to."""
        place = "" if self.name is None else f"item {self.number} of {self.name!r}, "
        where = f"{self._path}, {place}character {self._passed + self._at}"
        got = self._text[self._at : self._at + 40]
        return DataError(f"broken JSON: {what}", where=where, got=got or "the end of the file")

    def _skip(self) -> None:
        while True:
            self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text) or self._over:
                return
            self._more(self._window)

    def _more(self, size: int) -> None:
        read = self._file.read(size)
        self._over = not read
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + read, 0


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON number")
