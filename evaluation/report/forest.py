"""Estimates with their intervals, one row an evaluation: what changed, and how sure that is, at one look."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evaluation.report.figures import MODEL_LOOK, Look, estimate, name_of, span
from evaluation.report.markup import Markup, el

WIDTH, ROW, TOP, BOTTOM, LEFT, RIGHT = 460, 30, 8, 24, 84, 64
LETTER, LONGEST = 8.2, 22
"""Width of a letter, and most letters of a title that are drawn."""


def forest(figure: str, evaluations: Mapping[str, Mapping[str, Any]], look: Look = MODEL_LOOK) -> Markup | None:
    """Return the chart of one figure that is a share (0 to 1), None where no evaluation has it."""
    rows = [(name, s[figure]) for name, s in evaluations.items() if (s.get(figure) or {}).get("value") is not None]
    if not rows:
        return None
    bottom = TOP + ROW * len(rows)
    scale = Scale(max(LEFT, round(LETTER * max(len(_short(look.title(n))) for n, _ in rows)) + 24))
    grid = [
        (el("line", x1=scale.x(t), x2=scale.x(t), y1=TOP, y2=bottom, class_="grid"),
         el("text", f"{100 * t:.0f} %", x=scale.x(t), y=bottom + 16, class_="tick middle"))
        for t in (0.0, 0.25, 0.5, 0.75, 1.0)
    ]
    drawn = [_row(figure, name, found, TOP + ROW * (i + 0.5), scale, look) for i, (name, found) in enumerate(rows)]
    label = "; ".join(f"{look.title(n)} {estimate(figure, i['value'])} ({span(figure, i)})" for n, i in rows)
    svg = el("svg", grid, drawn, viewBox=f"0 0 {WIDTH} {bottom + BOTTOM}", role="img", aria_label=label)
    return el("figure", el("figcaption", el("b", name_of(figure))), svg, class_="forest")


@dataclass(frozen=True)
class Scale:
    """Where shares lie across the chart."""

    left: int
    """Room for titles."""

    def x(self, share: float) -> str:
        """Return where a share stands."""
        return f"{self.left + (WIDTH - self.left - RIGHT) * share:.1f}"


def _row(figure: str, name: str, interval: Mapping[str, Any], y: float, scale: Scale, look: Look) -> list[Markup]:
    low, high, value = interval["low"], interval["high"], interval["value"]
    title = look.title(name)
    tip = el("title", f"{title}: {estimate(figure, value)}, 95 % interval {span(figure, interval)}")
    return [
        el("text", _short(title), x=scale.left - 12, y=f"{y + 4:.1f}", class_="label end"),
        el("g", tip, el("line", x1=scale.x(low), x2=scale.x(high), y1=y, y2=y, class_="whisker"),
           el("circle", cx=scale.x(value), cy=y, r=5.5, class_="mark"), class_=f"model {look.colour(name)}"),
        el("text", estimate(figure, value), x=WIDTH - RIGHT + 12, y=f"{y + 4:.1f}", class_="value"),
    ]


def _short(title: str) -> str:
    return title if len(title) <= LONGEST else f"{title[: LONGEST - 1]}…"
