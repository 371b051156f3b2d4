"""`tool-rl score`: what stored rollouts earn under any reward, without a model."""

from __future__ import annotations

import json
import os
import statistics
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from scripts.cli.check import input_lines

if TYPE_CHECKING:
    from environment.core.schema import ToolSchema
    from environment.core.task import Task
    from training.reward.registry import Reward

TASK_FILES = ("rl_train.parquet", "rl_heldout.parquet", "train.jsonl", "heldout.jsonl")
"""Where a run keeps its tasks, under RUN/data, the exact rows of training first."""


def score(
    trajectories: Annotated[str, typer.Option(help="Rollouts, one a line (.jsonl or .gz); - reads standard input.")],
    reward: Annotated[str, typer.Option(help="graduated, legacy, binary or toolrl.")] = "graduated",
    out: Annotated[Path | None, typer.Option(help="File for the scores; standard output without it.")] = None,
    tasks: Annotated[
        list[Path] | None, typer.Option(help="Rows with the gold, .parquet or .jsonl; the run's own by default.")
    ] = None,
    weight: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help="A setting of the reward.")] = None,
    tool_schema_path: Annotated[Path | None, typer.Option(help="Tool schemas; the BookingAPI by default.")] = None,
) -> None:
    """Score stored rollouts again, without a model.

    A rollout that can't be read, or whose task isn't known, is named on stderr and costs that line alone; the command
    then ends with status 1.

    Example: tool-rl score --reward legacy --trajectories runs/cpu_smol-seed1/rollouts/step_00003.jsonl
    """
    from environment.booking.schemas import load_schemas
    from training.reward.registry import reward as reward_of

    judge = reward_of(reward, _weights(weight or []))
    known = _tasks(trajectories, tasks)
    schemas = load_schemas(tool_schema_path)
    rows: list[dict[str, Any]] = []
    broken = 0
    with _output(out) as sink:
        for found in _scored(trajectories, known, schemas, judge):
            if isinstance(found, str):
                broken += 1
                typer.echo(found, err=True)
            else:
                rows.append(found)
                sink.write(json.dumps(found, ensure_ascii=False) + "\n")
    typer.echo(summary(rows, broken, reward), err=True)
    if broken or not rows:
        raise typer.Exit(1)


def summary(rows: list[dict[str, Any]], broken: int, reward: str) -> str:
    """Return what a person wants to know of the scores in a few lines; void rollouts count only as such."""
    counted = [row for row in rows if not row["void"]]
    scores = sorted(row["score"] for row in counted)
    lines = [f"{len(rows)} rollouts scored by {reward}, {len(rows) - len(counted)} of them void, {broken} not scored"]
    if scores:
        marks = "  ".join(f"{name} {_quantile(scores, q):.3f}" for name, q in QUANTILES.items())
        success = sum(row["acc"] for row in counted) / len(counted)
        lines.append(f"mean {statistics.fmean(scores):.4f}  {marks}  success {success:.1%}")
    before = [(row["was"], row["score"]) for row in counted if row["was"] is not None]
    if before:
        changed = sum(abs(was - now) > 1e-9 for was, now in before)
        mean = statistics.fmean(was for was, _ in before)
        lines.append(f"recorded then: mean {mean:.4f}; {changed} of {len(before)} differ now")
    return "\n".join(lines)


QUANTILES = {"min": 0.0, "p10": 0.1, "median": 0.5, "p90": 0.9, "max": 1.0}
"""Marks of a distribution that are told."""


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[round(share * (len(ordered) - 1))]


def _scored(
    file: str, tasks: Mapping[str, Task], schemas: Mapping[str, ToolSchema], judge: Reward
) -> Iterator[dict[str, Any] | str]:
    """Yield a row, or what is wrong, for every line."""
    from environment.core.errors import DataError

    for number, line in enumerate(input_lines(file), 1):
        if line.strip():
            try:
                yield _row(line, number, tasks, schemas, judge)
            except DataError as error:
                yield f"{file} line {number}: {error}"


def _row(
    line: bytes, number: int, tasks: Mapping[str, Task], schemas: Mapping[str, ToolSchema], judge: Reward
) -> dict[str, Any]:
    from environment.core.errors import DataError, nearest_name
    from environment.core.task import Task
    from environment.core.trajectory import Trajectory

    try:
        stored: dict[str, Any] = json.loads(line)
        trajectory = Trajectory.from_json(stored)
        task = Task.from_json(stored["task"]) if stored.get("task") else tasks.get(trajectory.task_id)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"{type(error).__name__}: {str(error)[:200]}"
        raise DataError(f"no trajectory ({reason})", fix="give lines that `Trajectory.to_json` wrote") from error
    if task is None:
        raise DataError(
            "the task of this rollout isn't known", got=trajectory.task_id,
            nearest=nearest_name(trajectory.task_id, tasks), fix="name the rows it was made from with --tasks FILE",
        )  # fmt: skip
    found = judge(trajectory, task, schemas)
    head = {"line": number, "task_id": trajectory.task_id, "stop": str(trajectory.stop)}
    head |= {key: trajectory.meta[key] for key in ("step", "sample") if key in trajectory.meta}
    log = found.as_log()
    told = {"score": log.pop("score"), "acc": bool(log.pop("acc")), "void": found.void, "was": _was(trajectory.meta)}
    return {**head, **told, "components": log, **({"notes": list(found.notes)} if found.notes else {})}


def _was(meta: Mapping[str, Any]) -> float | None:
    stored = meta.get("reward")
    was = stored.get("score") if isinstance(stored, dict) else stored
    return float(was) if isinstance(was, int | float) else None


def _tasks(trajectories: str, given: list[Path] | None) -> dict[str, Task]:
    """Return the tasks by id: of the files named, else of the run the trajectories lie in."""
    from scripts.cli.gold import read_tasks

    files = given or _run_files(trajectories)
    known: dict[str, Task] = {}
    for file in files:
        for task in read_tasks(file):
            known.setdefault(task.id, task)
    return known


def _run_files(trajectories: str) -> list[Path]:
    if trajectories == "-":
        return []
    for folder in Path(trajectories).resolve().parents:
        found = [folder / "data" / name for name in TASK_FILES if (folder / "data" / name).is_file()]
        if found:
            return found
    return []


def _weights(given: list[str]) -> dict[str, float]:
    from environment.core.errors import ConfigError

    weights: dict[str, float] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            weights[name.strip()] = float(value)
        except ValueError as error:
            raise ConfigError("not a setting", where="--weight", got=text, expected="NAME=NUMBER") from error
    return weights


@contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    """Give a file that appears whole when all is written, or standard output."""
    from environment.core.errors import DataError

    if path is None:
        yield sys.stdout
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.is_dir():
            raise DataError("the output is a folder", where=str(path), expected="a file")
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise DataError(f"can't write there ({error.strerror or error})", where=str(path)) from error
    finally:
        part.unlink(missing_ok=True)
