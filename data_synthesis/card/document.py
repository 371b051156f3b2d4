"""`Card`: one description of a set, written as JSON for programs and as Markdown for people.

Both say the same. A card holds no time and no path of the machine, so equal sets have equal cards.
"""
from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_synthesis.overlap.compare import Overlap
from data_synthesis.overlap.report import table as overlap_table
from data_synthesis.whole import write_text
from environment.core.errors import DataError

CARD_VERSION = 1
Counts = Mapping[str, Mapping[str, int]]
"""Column → {set or step: number}, all columns of one table with the same kind of name first."""


@dataclass(frozen=True)
class Card:
    """What there is to say about a set."""

    title: str
    about: Mapping[str, Any]
    """Facts, one line each: rows, seeds, settings."""
    counts: Mapping[str, Counts] = field(default_factory=dict[str, Counts])
    """Heading of a table → thing counted → {column: number}."""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict[str, list[str]])
    """Heading → lines, such as rows that were turned down."""
    overlaps: tuple[Overlap, ...] = ()
    files: tuple[Path, ...] = ()
    """Files the card vouches for by their digest."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {
            "card_version": CARD_VERSION,
            "title": self.title,
            "about": dict(self.about),
            "files": [_file(path) for path in self.files],
            "counts": {name: {k: dict(v) for k, v in counts.items()} for name, counts in self.counts.items() if counts},
            "notes": {name: list(lines) for name, lines in self.notes.items() if lines},
            "overlaps": [overlap.to_json() for overlap in self.overlaps],
            "overlap_tables": [overlap_table(overlap) for overlap in self.overlaps],
        }


def write_card(stem: Path, card: Card) -> tuple[Path, Path]:
    """Write `<stem>.card.json` and `<stem>.card.md`; return their paths."""
    return _write(stem, card.to_json())


def amend_card(stem: Path, about: Mapping[str, Any], files: Iterable[Path] = ()) -> None:
    """Add facts to a card that is there, and take the digests of its files anew; DataError where there is none."""
    path = _paths(stem)[0]
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        data["about"] = {**data["about"], **about}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"no data card to add to ({error})", where=str(path)) from error
    data["files"] = [_file(file) for file in files] or data["files"]
    _write(stem, data)


def _paths(stem: Path) -> tuple[Path, Path]:
    return stem.with_name(f"{stem.name}.card.json"), stem.with_name(f"{stem.name}.card.md")


def _write(stem: Path, data: Mapping[str, Any]) -> tuple[Path, Path]:
    machine, people = _paths(stem)
    write_text(machine, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    write_text(people, markdown(data))
    return machine, people


def markdown(data: Mapping[str, Any]) -> str:
    """Return the text for people of a card's JSON."""
    lines = [f"# {data['title']}", "", *(f"- {name}: {_plain(value)}" for name, value in data["about"].items())]
    if data["files"]:
        lines += ["", "| file | bytes | sha256 |", "|---|---|---|"]
        lines += [f"| {file['name']} | {file['bytes']} | `{file['sha256'][:16]}…` |" for file in data["files"]]
    for heading, counts in data["counts"].items():
        lines += ["", f"## {heading}", "", *_table(counts)]
    for heading, notes in data["notes"].items():
        lines += ["", f"## {heading}", "", *(f"- {_cell(line)}" for line in notes)]
    for text in data["overlap_tables"]:
        lines += ["", "## Overlap", "", text]
    return "\n".join(lines) + "\n"


def _table(counts: Counts) -> list[str]:
    columns = list(dict.fromkeys(column for numbers in counts.values() for column in numbers))
    rows = [
        f"| {_cell(name)} | {' | '.join(str(numbers.get(column, 0)) for column in columns)} |"
        for name, numbers in counts.items()
    ]
    return [f"| | {' | '.join(columns)} |", f"|---|{'---|' * len(columns)}", *rows] if counts else ["none"]


def _plain(value: Any) -> str:
    return _cell(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _file(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"name": path.name, "bytes": path.stat().st_size, "sha256": digest}
