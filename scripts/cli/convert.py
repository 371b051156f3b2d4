"""`tool-rl convert`: rows of ours, or records, as a file in ComplexFuncBench's format."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from environment.core.dispatch import World
    from environment.core.schema import ToolSchema
    from environment.core.task import Task


def convert(
    rows: Annotated[Path, typer.Argument(help="Tasks (.parquet, .jsonl) or records (.jsonl, .pkl).")],
    out: Annotated[Path, typer.Argument(help="The file to write, in ComplexFuncBench's format.")],
    world: Annotated[Path | None, typer.Option(help="Answers gold calls whose answer the rows don't hold.")] = None,
    sequential: Annotated[bool, typer.Option("--sequential", help="One call a turn.")] = False,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that can't be used, and go on.")] = False,
    tool_schema_path: Annotated[Path | None, typer.Option(help="Tool schemas; the BookingAPI by default.")] = None,
) -> None:
    """Write rows in the format of ComplexFuncBench, so that `tool-rl eval complexfuncbench` and others can play them.

    Example: tool-rl convert runs/cpu_smol-seed1/data/heldout.jsonl heldout.cfb.jsonl --world runs/world.db
    """
    from data_synthesis.whole import write_text
    from environment.booking.schemas import load_schemas
    from environment.core.errors import DataError
    from environment.server.opening import open_world

    schemas = load_schemas(tool_schema_path)
    lines: list[str] = []
    bad: list[DataError] = []
    silent = 0
    with ExitStack() as stack:
        opened = open_world(world, schemas) if world is not None else None
        if opened is not None:
            stack.callback(opened.close)
        for row in _entries(rows, schemas, opened, parallel=not sequential):
            if isinstance(row, DataError):
                bad.append(row)
                typer.echo(str(row), err=True)
            else:
                lines.append(json.dumps(row, ensure_ascii=False) + "\n")
                silent += sum(a == "" for t in row["conversations"] if t["role"] == "observation" for a in t["content"])
    if bad and not skip_bad:
        raise DataError(f"{len(bad)} rows can't be used; nothing was written", where=str(rows), fix="or --skip-bad")
    if not lines:
        raise DataError("no rows", where=str(rows))
    write_text(out, "".join(lines))
    told = f"{len(lines)} entries in {out}, {len(bad)} rows left out, {silent} gold calls without an answer"
    typer.echo(told + ("; name a --world that has them" if silent and world is None else ""))


def _entries(
    rows: Path, schemas: Mapping[str, ToolSchema], world: World | None, *, parallel: bool
) -> Iterator[dict[str, Any] | Any]:
    """Yield an entry, or what is wrong, for each row."""
    from environment.core.errors import DataError
    from evaluation.suites.complexfuncbench.write import entry_row

    for task, stored in _tasks(rows, schemas):
        if isinstance(task, DataError):
            yield task
            continue
        answers = [_answer(task, i, stored, world) for i in range(len(task.steps))]
        try:
            yield entry_row(task, schemas, answers, parallel=parallel)
        except DataError as error:
            yield error


def _tasks(rows: Path, schemas: Mapping[str, ToolSchema]) -> Iterator[tuple[Task | Any, list[Any]]]:
    """Yield each row's task with the answers it stores, or what is wrong with it."""
    from environment.core.errors import DataError
    from scripts.cli.gold import read_tasks, record_rows, responses_of, task_of

    if rows.suffix == ".parquet":
        yield from ((task, []) for task in read_tasks(rows))
        return
    for where, row in record_rows(rows):
        if isinstance(row, DataError):
            yield row, []
            continue
        try:
            task = task_of(row, schemas, where)
            yield task, responses_of(row) if "steps" in row else []
        except DataError as error:
            yield error, []


def _answer(task: Task, step: int, stored: list[Any], world: World | None) -> Any:
    from environment.core.calls import ResultStatus

    if step < len(stored) and stored[step] not in (None, ""):
        return stored[step]
    if world is None:
        return None
    answer = world.call(task.steps[step].function, task.steps[step].arguments)
    return answer.value if answer.status in (ResultStatus.OK, ResultStatus.UPSTREAM_ERROR) else None
