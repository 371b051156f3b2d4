"""What preprocessing did: rows read, written and turned down, each bad one by name."""
from __future__ import annotations

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

    def summary(self) -> str:
        """Return the run in a few lines for a terminal."""
        lines = [f"{self.written} of {self.read} records → {self.output} ({self.edges} dependent arguments)"]
        if self.unsuccessful:
            lines.append(f"{self.unsuccessful} left out: overall_success is false")
        if self.bad:
            lines.append(f"{len(self.bad)} bad records:")
            lines += [f"  {row.where}: {row.problem}" for row in self.bad[:_SHOWN]]
            lines += [f"  … and {len(self.bad) - _SHOWN} more"] if len(self.bad) > _SHOWN else []
        return "\n".join(lines)

    def require(self, strict: bool) -> None:
        """Raise DataError where nothing was written, or where a record was bad and `strict` is set."""
        if strict and self.bad:
            raise DataError(
                f"{len(self.bad)} of {self.read} records are bad",
                where=self.bad[0].where,
                got=self.bad[0].problem,
                fix="correct the records, or run without --strict to leave them out",
            )
        if not self.written:
            first = f"; the first: {self.bad[0].where}: {self.bad[0].problem}" if self.bad else ""
            got = f"{self.read} read, {len(self.bad)} bad, {self.unsuccessful} unsuccessful{first}"
            raise DataError(f"no record could be used: {got}", where=self.output)


def reason(error: Exception) -> str:
    """Return an error in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def label(path: Path, number: int, workflow: object) -> str:
    """Return how a record is named to the user: file, 1-based number, workflow."""
    return f"{path.name} record {number}" + (f" ({workflow})" if workflow else "")
