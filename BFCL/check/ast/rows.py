"""Rows of a file to verdicts: `{case_id, function, possible_answer, model_output, category}` → a verdict or a problem.

A row that can't be judged costs that row alone. Without a category the row is judged by its own size, in Python: more
answers than one are `parallel`, more documents than one are `multiple`.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from BFCL.check.ast.check import check
from BFCL.check.lines import judge_each, require
from BFCL.data.categories import AST, known
from environment.core.errors import DataError

KEYS = ("case_id", "function", "possible_answer", "model_output")
"""What a row must hold."""
OLD_NAMES = ("simple", "java", "javascript")
"""Of categories, in the leaderboard's oldest files."""


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """One judged row."""

    case_id: str
    valid: bool
    error_type: str

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"case_id": self.case_id, "valid": self.valid, "error_type": self.error_type}


def judge_lines(lines: Iterable[bytes], where: str) -> Iterator[RowVerdict | DataError]:
    """Yield a verdict, or what is wrong, for every line that isn't blank; `where` names the file in errors."""
    return judge_each(lines, where, judge_row)


def judge_row(row: Mapping[str, Any]) -> RowVerdict:
    """Return the verdict on one row; DataError where it lacks a key or a list is none."""
    require(row, KEYS)
    functions, answers = _objects(row, "function"), _objects(row, "possible_answer")
    if not functions or not answers:
        raise DataError("nothing to compare with", got=row, expected="at least one function and one possible_answer")
    calls = cast("list[Any]", row["model_output"] if isinstance(row["model_output"], list) else [])
    found = check(functions, answers, calls, category_of(row))
    return RowVerdict(str(row["case_id"]), found.valid, found.error_type)


def category_of(row: Mapping[str, Any]) -> str:
    """Return the category of a row, or what its size says."""
    given = row.get("category")
    if given is None:
        return "parallel" if len(row["possible_answer"]) > 1 else "multiple" if len(row["function"]) > 1 else "simple"
    return given if given in OLD_NAMES else known(str(given), AST)


def _objects(row: Mapping[str, Any], key: str) -> Sequence[Any]:
    """Return a list of objects; a lone object, as the oldest files of the leaderboard have it, is a list of one."""
    value = row[key]
    items = cast("list[object]", value if isinstance(value, list) else [value])
    if not all(isinstance(item, dict) and cast("dict[str, Any]", item) for item in items):
        expected = "a list of objects that aren't empty"
        raise DataError(f"{key} is no list of objects", got=cast("object", value), expected=expected)
    return items
