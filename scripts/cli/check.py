"""`tool-rl check …`: judge stored calls without a model."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

import typer

if TYPE_CHECKING:
    from environment.core.errors import DataError

check_app = typer.Typer(
    help="Judge stored calls by published rules.\n\nExample: tool-rl check ast rows.jsonl.gz",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@check_app.callback()
def _group() -> None:
    """Hold the rules that calls can be judged by."""


@check_app.command("ast")
def check_ast(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, plain or .gz; - reads standard input.")],
) -> None:
    """Judge rows by the Berkeley leaderboard's AST rules; print one JSON verdict a row.

    A row holds case_id, function, possible_answer, model_output (a list of {function: {argument: value}}) and, where it
    isn't plain Python, category. A row that can't be judged is named on stderr and the command ends with status 1.

    Example: tool-rl check ast rows.jsonl.gz > verdicts.jsonl
    """
    from BFCL.check.ast.rows import judge_lines

    _judge(file, judge_lines)


@check_app.command("multi-turn")
def check_multi_turn(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, plain or .gz; - reads standard input.")],
) -> None:
    """Judge rollouts by the Berkeley leaderboard's multi-turn rules; print one JSON verdict a row.

    A row holds case_id, category (such as multi_turn_base), id (of the leaderboard's row) and model_calls: a list of
    turns, each a list of steps, each a list of calls such as "cd(folder='document')". Calls act on a simulated world
    and are never run as code. A row that can't be judged is named on stderr and the command ends with status 1. Needs
    the package bfcl-eval, which scripts/setup.sh installs.

    Example: tool-rl check multi-turn rollouts.jsonl.gz > verdicts.jsonl
    """
    from BFCL.check.multi_turn.rows import judge_lines
    from BFCL.data.package import home

    home()
    _judge(file, judge_lines)


class _RowVerdict(Protocol):
    """What either kind of rules says of a row."""

    @property
    def valid(self) -> bool: ...

    def to_json(self) -> dict[str, Any]: ...


def _judge(
    file: str, judge_lines: Callable[[Iterable[bytes], str], Iterator[_RowVerdict | DataError]]
) -> None:
    """Print a verdict a row and the counts; exit with 1 where a row could not be judged."""
    from environment.core.errors import DataError

    judged = wrong = broken = 0
    for found in judge_lines(input_lines(file), "stdin" if file == "-" else file):
        if isinstance(found, DataError):
            broken += 1
            typer.echo(str(found), err=True)
        else:
            judged += 1
            wrong += not found.valid
            typer.echo(json.dumps(found.to_json()))
    if not judged + broken:
        raise DataError("no rows", where=file, expected="one JSON object a line")
    typer.echo(f"{judged} rows judged, {judged - wrong} valid, {wrong} invalid, {broken} not judged", err=True)
    if broken:
        raise typer.Exit(1)


def input_lines(file: str) -> Iterator[bytes]:
    """Yield the lines of a file, plain or gzip by its first bytes, or of standard input for `-`.

    Raises:
        DataError: it can't be read, or its compressed text is damaged.
    """
    from environment.core.errors import DataError

    try:
        with nullcontext(sys.stdin.buffer) if file == "-" else Path(file).open("rb") as raw:
            lines = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw))
            packed = lines.peek(2)[:2] == b"\x1f\x8b"
            yield from gzip.GzipFile(fileobj=lines) if packed else lines
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the compressed file is damaged ({error})", where=file, fix="copy it again") from error
    except OSError as error:
        raise DataError(f"the file can't be read ({error.strerror or error})", where=file) from error
