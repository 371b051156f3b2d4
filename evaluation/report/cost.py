"""What a run cost: time a stage, what the machine was held for, tokens of training and of each evaluation."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.report.figures import DASH, count, duration, model_name, number
from evaluation.report.load import RunData
from evaluation.report.markup import Markup
from evaluation.report.tables import bar, table

TOTALS = ("total", "all")


def stage_times(wall: Any) -> dict[str, float]:
    """Return the seconds of each stage, sums left out; empty where none are known."""
    pairs = wall.items() if isinstance(wall, Mapping) else ()
    return {k: float(v) for k, v in pairs if isinstance(v, int | float) and math.isfinite(v) and k not in TOTALS}


def times(wall: Any) -> Markup | None:
    """Return the wall time of each stage as bars and numbers."""
    parts = stage_times(wall)
    total = sum(parts.values())
    if not total:
        return None
    rows = [[k, duration(v), bar("time", v / total, f"{100 * v / total:.0f} %")] for k, v in parts.items()]
    return table(["Stage", "Time", "Share"], [*rows, ["All", duration(total), ""]], "Time a stage", "times")


def held(run: RunData) -> str | None:
    """Say what the machine was held for: core hours, or GPU hours where there are GPUs."""
    total = sum(stage_times(run.summary.get("wall_s")).values())
    hardware: Any = run.environment.get("hardware")
    if not total or not isinstance(hardware, Mapping):
        return None
    gpus, cores = hardware.get("gpus"), hardware.get("cores")
    if isinstance(gpus, list) and gpus:
        return f"{number(total / 3600 * len(gpus))} GPU hours ({len(gpus)} × {gpus[0]})"
    return f"{number(total / 3600 * cores)} core hours ({cores} cores)" if isinstance(cores, int) and cores else None


def tokens(run: RunData) -> Markup | None:
    """Return tokens, time and pace of the training and of each evaluation."""
    rows = [row for row in (_training(run.steps), *(_evaluation(n, s) for n, s in run.everything.items())) if row]
    head = ["", "Episodes", "Tokens", "Of them generated", "Time", "Tokens/s"]
    return table(head, rows, "Tokens and pace", "numbers") if rows else None


def comparison(runs: Mapping[str, RunData]) -> Markup | None:
    """Return the time of each stage, a column a run, and what the machine was held for."""
    walls = {name: stage_times(run.summary.get("wall_s")) for name, run in runs.items()}
    stages = list(dict.fromkeys(stage for wall in walls.values() for stage in wall))
    if not stages:
        return None
    rows: list[list[Any]] = [[stage, *(_time(wall.get(stage)) for wall in walls.values())] for stage in stages]
    rows.append(["All", *(_time(sum(wall.values()) or None) for wall in walls.values())])
    rows.append(["Machine", *(held(run) or DASH for run in runs.values())])
    return table(["Stage", *runs], rows, "Time a stage", "numbers times")


def _training(steps: Sequence[Mapping[str, Any]]) -> list[Any] | None:
    if not steps:
        return None
    episodes, total, seconds = (_sum(steps, key) for key in ("rollouts", "perf/total_num_tokens", "step_s"))
    return ["RL training", _count(episodes), _count(total), DASH, _time(seconds), _pace(total, seconds)]


def _evaluation(name: str, summary: Mapping[str, Any]) -> list[Any] | None:
    used: Any = summary.get("tokens")
    if not isinstance(used, Mapping):
        return None
    stops: Any = summary.get("stops")
    episodes = sum(n for kind in stops.values() for n in kind.values()) if isinstance(stops, Mapping) else None
    written, seconds = used.get("completion_tokens"), summary.get("wall_s")
    total = (used.get("prompt_tokens") or 0) + (written or 0)
    title = f"Evaluation, {model_name(name)}"
    return [title, _count(episodes), _count(total), _count(written), _time(seconds), _pace(total, seconds)]


def _pace(amount: float | None, seconds: float | None) -> str:
    return number(amount / seconds) if amount and seconds else DASH


def _sum(steps: Sequence[Mapping[str, Any]], key: str) -> float | None:
    values = [float(s[key]) for s in steps if key in s and math.isfinite(s[key])]
    return sum(values) if values else None


def _count(value: float | None) -> str:
    return DASH if not value else count(round(value))


def _time(seconds: float | None) -> str:
    return duration(seconds) if seconds else DASH
