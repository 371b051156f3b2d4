"""What preprocessing did: rows read, written and turned down, each bad one by name, and what the rows are."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from environment.core.errors import DataError

_SHOWN = 20


@dataclass(frozen=True)
class BadRow:
    """A record that could not be used."""

    where: str
    """File and number of the record, and its workflow."""
    problem: str


@dataclass
class PreprocessReport:
    """Counts of one run."""

    output: str
    read: int = 0
    written: int = 0
    unsuccessful: int = 0
    """Records left out because they say of themselves that they failed."""
    edges: int = 0
    """Dependent arguments whose source is known."""
    longest_prompt: int = 0
    """Characters of the longest opening or dialogue."""
    bad: list[BadRow] = field(default_factory=list[BadRow])
    """The first bad records; `bad_rows` counts them all."""
    bad_rows: int = 0
    patterns: Counter[str] = field(default_factory=Counter[str])
    """Workflow → rows written."""
    steps: Counter[int] = field(default_factory=Counter[int])
    """Number of calls → rows written."""
    domains: Counter[str] = field(default_factory=Counter[str])
    defects: Counter[str] = field(default_factory=Counter[str])
    """Kind of defect → records of others that have it and were written all the same."""
    defective: list[BadRow] = field(default_factory=list[BadRow])
    """The first records with defects."""

    def add_bad(self, where: str, problem: str) -> None:
        """Count a record that could not be used."""
        self.bad_rows += 1
        if len(self.bad) < 1000:
            self.bad.append(BadRow(where, problem))

    def add_defects(self, where: str, found: dict[str, str]) -> None:
        """Count a record's defects, kind → detail."""
        self.defects.update(found.keys())
        if found and len(self.defective) < 1000:
            self.defective.append(BadRow(where, "; ".join(f"{kind}: {detail}" for kind, detail in found.items())))

    def summary(self) -> str:
        """Return the run in a few lines for a terminal."""
        lines = [f"{self.written} of {self.read} records → {self.output} ({self.edges} dependent arguments)"]
        if self.unsuccessful:
            lines.append(f"{self.unsuccessful} left out: overall_success is false")
        if self.bad_rows:
            lines.append(f"{self.bad_rows} bad records:")
            lines += _shown(self.bad, self.bad_rows)
        if self.defects:
            lines.append("records with defects, written all the same:")
            lines += [f"  {kind}: {count}" for kind, count in self.defects.most_common()]
            lines += _shown(self.defective, len(self.defective))
        return "\n".join(lines)

    def require(self, strict: bool) -> None:
        """Raise DataError where nothing was written, or where a record was bad and `strict` is set."""
        if strict and self.bad:
            raise DataError(
                f"{self.bad_rows} of {self.read} records are bad",
                where=self.bad[0].where,
                got=self.bad[0].problem,
                fix="correct the records, or run without --strict to leave them out",
            )
        if not self.written:
            first = f"; the first: {self.bad[0].where}: {self.bad[0].problem}" if self.bad else ""
            got = f"{self.read} read, {self.bad_rows} bad, {self.unsuccessful} unsuccessful{first}"
            raise DataError(f"no record could be used: {got}", where=self.output)


def reason(error: Exception) -> str:
    """Return an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def label(path: Path, number: int, workflow: object) -> str:
    """Return how a record is named to the user: file, 1-based number, workflow."""
    return f"{path.name} record {number}" + (f" ({workflow})" if workflow else "")


def _shown(rows: list[BadRow], count: int) -> list[str]:
    lines = [f"  {row.where}: {row.problem}" for row in rows[:_SHOWN]]
    return [*lines, f"  … and {count - _SHOWN} more"] if count > _SHOWN else lines
