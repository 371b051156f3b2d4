"""Writing so that a reader, or a killed writer, never leaves half a file; and fingerprints of what was written."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

LARGE = 64 * 2**20
"""Files above this many bytes are fingerprinted by size and time of change, not by content."""


def write_atomic(path: Path, text: str) -> None:
    """Write `text` to `path`: the old content or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """Write JSON for people and programs, atomically."""
    write_atomic(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> dict[str, object] | None:
    """Return the JSON object in a file; None where it is absent or damaged."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def digest(value: object) -> str:
    """Return a short hash of any JSON value, independent of key order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def fingerprint(path: Path) -> str | None:
    """Return the fingerprint of a file, or of a folder with all files in it; None where nothing is there.

    Equal content gives equal fingerprints, wherever the files lie; only files above LARGE also need
    an equal time of change.
    """
    if path.is_file():
        return _of_file(path)
    if not path.is_dir():
        return None
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return digest([[file.relative_to(path).as_posix(), _of_file(file)] for file in files])


def _of_file(path: Path) -> str:
    state = path.stat()
    if state.st_size > LARGE:
        return digest([state.st_size, state.st_mtime_ns])
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:20]
