"""Rows of a file to verdicts: `{case_id, category, id, model_calls}` → a verdict or a problem.

The row of the leaderboard is named by its category and id; what it asks comes from the official package.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from BFCL.check.lines import judge_each, require
from BFCL.check.multi_turn.check import check
from BFCL.data.categories import MULTI_TURN, known
from BFCL.data.rows import multi_turn_row
from environment.core.errors import DataError

KEYS = ("case_id", "category", "id", "model_calls")
"""What a row must hold."""


@dataclass(frozen=True, slots=True)
class RowVerdict:
    """One judged row."""

    case_id: str
    valid: bool
    error_type: str
    turn: int | None

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {"case_id": self.case_id, "valid": self.valid, "error_type": self.error_type, "turn": self.turn}


def judge_lines(lines: Iterable[bytes], where: str) -> Iterator[RowVerdict | DataError]:
    """Yield a verdict, or what is wrong, for every line that isn't blank; `where` names the file in errors.

    Raises:
        ConfigError: the official package is not installed.
    """
    return judge_each(lines, where, judge_row)


def judge_row(row: Mapping[str, Any]) -> RowVerdict:
    """Return the verdict on one row; DataError where it lacks a key, names no row, or its calls have another shape."""
    require(row, KEYS)
    category = known(str(row["category"]), tuple(MULTI_TURN))
    found = check(multi_turn_row(category, str(row["id"])), _calls(row["model_calls"]))
    return RowVerdict(str(row["case_id"]), found.valid, found.error_type, found.turn)


def _calls(value: object) -> Sequence[Sequence[Sequence[str]]]:
    fitting = _is_list(value) and all(
        _is_list(turn) and all(_is_list(step) and all(isinstance(call, str) for call in step) for step in turn)
        for turn in cast("list[list[list[object]]]", value)
    )
    if not fitting:
        expected = 'a list of turns, each a list of steps, each a list of calls: [[["ls()"]]]'
        raise DataError("model_calls has another shape", got=value, expected=expected)
    return cast("list[list[list[str]]]", value)


def _is_list(value: object) -> bool:
    return isinstance(value, list)
