"""Files that appear whole or not at all."""
from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from environment.core.errors import DataError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a path to write to; the file takes its name once the block ends well, and leaves nothing otherwise.

    Raises:
        DataError: the place can't be written to, or is a folder.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    if path.is_dir():
        raise DataError("the file to write is a folder", where=str(path), fix="name a file in it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
    except OSError as error:
        raise DataError(f"the file can't be written ({error.strerror})", where=str(path)) from error
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a whole text file."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
