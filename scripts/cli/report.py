"""`tool-rl report RUN [RUN …]`: the page of run folders, whatever stage they are at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from environment.core.errors import ConfigError, nearest_name

PARTS = ("metrics.jsonl", "summary.json", "config.yaml", "eval", "rollouts")
"""A folder with any of these is a run."""


def split_runs(arguments: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Tell run folders from settings: a setting has `=` and is no folder."""
    runs = [Path(text) for text in arguments if "=" not in text or Path(text).is_dir()]
    return runs, [text for text in arguments if "=" in text and not Path(text).is_dir()]


def build_page(runs: Sequence[Path], out: Path | None, overrides: Sequence[str], *, named: bool) -> None:
    """Write the page and say where it lies.

    Args:
        runs: the folders, at least one.
        out: the page; RUN/report.html for one run, comparison.html here for several.
        overrides: settings given besides; none make sense.
        named: whether a profile or run directory was given besides; neither makes sense.

    Raises:
        ConfigError: no run was named, settings besides, or a folder that is no run.
        DataError: a damaged file of a run, or a page that can't be written.
    """
    if not runs:
        raise ConfigError("--out needs run folders", where="report", fix="tool-rl report RUN [RUN …] --out FILE")
    if overrides or named:
        fix = "name the run folders alone, or use --run-dir for the stage of one run"
        raise ConfigError("run folders and settings together", where="report", got=" ".join(overrides) or None, fix=fix)
    for folder in runs:
        _check(folder)
    from evaluation.report import build_comparison, build_report

    if len(runs) == 1:
        typer.echo(str(build_report(runs[0], out)))
    else:
        typer.echo(str(build_comparison(runs, out or Path("comparison.html"))))


def _check(folder: Path) -> None:
    if not folder.is_dir():
        what = "a run is a folder, this is a file" if folder.exists() else "no such run"
        beside = folder.parent.iterdir() if folder.parent.is_dir() else ()
        nearest = nearest_name(folder.name, (each.name for each in beside if each.is_dir()))
        raise ConfigError(what, where=str(folder), nearest=None if nearest is None else str(folder.with_name(nearest)))
    if not any((folder / part).exists() for part in PARTS) and not any(folder.glob("*.trajectories.jsonl")):
        fix = "name the folder of one run, such as runs/cpu_smol-seed1, or one that `tool-rl eval` wrote to"
        raise ConfigError("not a run: nothing of one is in it", where=str(folder), expected=", ".join(PARTS), fix=fix)
