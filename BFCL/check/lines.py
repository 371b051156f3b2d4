"""Lines of a file to verdicts, one row at a time: a row that can't be judged costs that row alone."""
from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

from environment.core.errors import DataError, nearest_name

Judged = TypeVar("Judged")


def judge_each(
    lines: Iterable[bytes], where: str, judge: Callable[[Mapping[str, Any]], Judged]
) -> Iterator[Judged | DataError]:
    """Yield what `judge` makes of every line that isn't blank, or what is wrong with the line.

    Args:
        lines: JSON, one object a line, with or without a byte order mark.
        where: name of the file in errors.
        judge: row → verdict; DataError where the row can't be judged.
    """
    for number, line in enumerate(lines, 1):
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if line.strip():
            try:
                yield judge(_object(line))
            except DataError as error:
                yield DataError(
                    error.what, where=f"{where} line {number}", got=error.got, expected=error.expected,
                    nearest=error.nearest, fix=error.fix,
                )  # fmt: skip


def require(row: Mapping[str, Any], keys: Sequence[str]) -> None:
    """Raise DataError, with the nearest name, where a row lacks one of its keys."""
    missing = next((key for key in keys if key not in row), None)
    if missing is not None:
        near = nearest_name(missing, [key for key in row if key not in keys])
        raise DataError(f"the row has no {missing}", expected=", ".join(keys), nearest=near)


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise DataError(f"the line is no JSON: {problem}") from error
    if not isinstance(row, dict):
        raise DataError("the line is no row", got=type(row).__name__, expected="a JSON object")
    return cast("dict[str, Any]", row)
