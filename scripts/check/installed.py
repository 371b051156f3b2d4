"""List the lines of a lock file that this interpreter's environment does not hold complete.

    python scripts/check/installed.py scripts/requirements/cpu.txt

A package counts as held when its version is the pinned one and its installer finished: an installation cut short leaves
no RECORD that names INSTALLER, and a folder deleted by hand leaves a RECORD whose files are gone. Needs nothing but the
standard library, since it runs before anything is installed.
"""
from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

STRAYS = ("scripts/",)
"""Top-level folders that packages ship by mistake and scripts/setup.sh removes."""


def pinned(lock: str) -> Iterator[tuple[str, str, str]]:
    """Yield (line, name, version) for each pin of a lock file's text; comments and other lines are passed over."""
    for line in lock.splitlines():
        text = line.split("#")[0].split(";")[0].strip()
        if found := re.fullmatch(r"([A-Za-z0-9._-]+)==(\S+)", text):
            yield text, found[1], found[2]


def complete(package: Distribution, version: str) -> bool:
    """Tell whether a package is there in this version (a local part like +cpu is passed over) with all its files."""
    if package.version.split("+")[0] != version.split("+")[0]:
        return False
    files = package.files or []
    if not any(file.name == "INSTALLER" for file in files):
        return False
    return all(Path(str(package.locate_file(file))).exists() for file in files if _matters(str(file)))


def missing(lock: str) -> list[str]:
    """Return the pins of a lock file's text that are not held complete."""
    return [line for line, name, version in pinned(lock) if not _held(name, version)]


def _held(name: str, version: str) -> bool:
    try:
        return complete(distribution(name), version)
    except PackageNotFoundError:
        return False


def _matters(path: str) -> bool:
    return not path.endswith(".pyc") and not path.startswith(STRAYS)


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in missing(Path(sys.argv[1]).read_text(encoding="utf-8")))
