"""summary.json: the figures of a run, gathered from what the stages left; and the before/after table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from training.launch.files import read_json, write_json
from training.launch.follow import Tail, last_rows
from training.launch.paths import RunPaths
from training.launch.settings import ToolRl

POLICIES = ("base", "sft", "rl")
"""The policies compared, before to after."""
DETAILS = frozenset({"items", "settings", "by_pattern", "by_length"})
"""Parts of an evaluation that stay in its own file."""
FIGURES = ("success_rate", "avg_at_4", "turn_accuracy", "call_accuracy", "reward_mean")
"""Columns of the table; each may have a 95 % interval beside it."""


def write_summary(paths: RunPaths, settings: ToolRl) -> dict[str, object]:
    """Gather the figures of the run, write them to summary.json and return them."""
    walls = stage_walls(paths)
    curve = last_rows(paths.metrics)
    summary: dict[str, object] = {
        "profile": settings.profile,
        "seed": settings.seed,
        "steps": curve[-1]["step"] if curve else 0,
        "wall_s": {**walls, "total": round(sum(walls.values()), 1)},
    }
    for policy in POLICIES:
        figures = read_json(paths.evaluation(policy))
        if figures is not None:
            summary[policy] = {name: value for name, value in figures.items() if name not in DETAILS}
    write_json(paths.summary, summary)
    return summary


def stage_walls(paths: RunPaths) -> dict[str, float]:
    """Return the seconds each stage took over all its tries, in order of first try."""
    walls: dict[str, float] = {}
    for row in Tail(paths.attempts).rows():
        name, wall = row.get("stage"), row.get("wall_s")
        if isinstance(name, str) and isinstance(wall, (int, float)):
            walls[name] = round(walls.get(name, 0.0) + wall, 2)
    return walls


def table_lines(paths: RunPaths) -> list[str]:
    """Return the before/after table as text; empty where there is no summary yet."""
    summary = read_json(paths.summary)
    if summary is None:
        return []
    titles = ["", "rows", *(name.replace("_", " ").replace("avg at", "avg@").replace("@ ", "@") for name in FIGURES)]
    rows = [titles]
    for policy in POLICIES:
        figures = summary.get(policy)
        if isinstance(figures, Mapping):
            cells = cast("Mapping[str, object]", figures)
            rows.append([policy, str(cells.get("n", "–")), *(_cell(cells, name) for name in FIGURES)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(titles))]
    return ["  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cell(figures: Mapping[str, object], name: str) -> str:
    found = figures.get(name)
    estimate = cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}
    value, low, high = (estimate.get(part) for part in ("value", "low", "high"))
    form = "{:.3f}" if name == "reward_mean" else "{:.1%}"
    if not isinstance(value, (int, float)):
        return "–"
    bounded = isinstance(low, (int, float)) and isinstance(high, (int, float))
    return form.format(value) + (f" [{form.format(low)}, {form.format(high)}]" if bounded else "")
