"""Estimates with their intervals, one row a model: what changed, and how sure that is, at one look."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.report.figures import estimate, model_name, name_of, span
from evaluation.report.markup import Markup, el

WIDTH, ROW, TOP, BOTTOM, LEFT, RIGHT = 460, 30, 8, 24, 84, 64


def forest(figure: str, evaluations: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """Return the chart of one figure that is a share (0 to 1), None where no model has it."""
    rows = [(name, s[figure]) for name, s in evaluations.items() if (s.get(figure) or {}).get("value") is not None]
    if not rows:
        return None
    bottom = TOP + ROW * len(rows)
    grid = [
        (el("line", x1=_x(t), x2=_x(t), y1=TOP, y2=bottom, class_="grid"),
         el("text", f"{100 * t:.0f} %", x=_x(t), y=bottom + 16, class_="tick middle"))
        for t in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    drawn = [_row(name, figure, interval, TOP + ROW * (i + 0.5)) for i, (name, interval) in enumerate(rows)]
    label = "; ".join(f"{model_name(n)} {estimate(figure, i['value'])} ({span(figure, i)})" for n, i in rows)
    svg = el("svg", grid, drawn, viewBox=f"0 0 {WIDTH} {bottom + BOTTOM}", role="img", aria_label=label)
    return el("figure", el("figcaption", el("b", name_of(figure))), svg, class_="forest")


def _row(name: str, figure: str, interval: Mapping[str, Any], y: float) -> list[Markup]:
    low, high, value = interval["low"], interval["high"], interval["value"]
    tip = el("title", f"{model_name(name)}: {estimate(figure, value)}, 95 % interval {span(figure, interval)}")
    return [
        el("text", model_name(name), x=LEFT - 12, y=f"{y + 4:.1f}", class_="label end"),
        el("g", tip, el("line", x1=_x(low), x2=_x(high), y1=y, y2=y, class_="whisker"),
           el("circle", cx=_x(value), cy=y, r=5.5, class_="mark"), class_=f"model {_known(name)}"),
        el("text", estimate(figure, value), x=WIDTH - RIGHT + 12, y=f"{y + 4:.1f}", class_="value"),
    ]


def _x(share: float) -> str:
    return f"{LEFT + (WIDTH - LEFT - RIGHT) * share:.1f}"


def _known(name: str) -> str:
    return name if name in ("base", "sft", "rl") else "other"
