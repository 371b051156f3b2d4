"""`tool-rl check …`: judge stored calls without a model."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, cast

import typer

check_app = typer.Typer(
    help="Judge stored calls by published rules.\n\nExample: tool-rl check ast rows.jsonl.gz",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@check_app.callback()
def _group() -> None:
    """Keep `ast` a verb of its own: rules of other kinds will stand beside it."""


@check_app.command("ast")
def check_ast(
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON Lines, plain or .gz; - reads standard input.")],
) -> None:
    """Judge rows by the Berkeley leaderboard's AST rules; print one JSON verdict a row.

    A row holds case_id, function, possible_answer, model_output (a list of {function: {argument: value}}) and, where it
    isn't plain Python, category. A row that can't be judged is named on stderr and the command ends with status 1.

    Example: tool-rl check ast rows.jsonl.gz > verdicts.jsonl
    """
    from BFCL.check.ast.rows import RowVerdict, judge_lines
    from environment.core.errors import DataError

    judged = wrong = broken = 0
    for found in judge_lines(input_lines(file), "stdin" if file == "-" else file):
        if isinstance(found, RowVerdict):
            judged += 1
            wrong += not found.valid
            typer.echo(json.dumps(found.to_json()))
        else:
            broken += 1
            typer.echo(str(found), err=True)
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
