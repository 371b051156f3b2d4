"""Learning curves as inline SVG: every step as a dot, a running mean as the line once there are enough steps.

Several runs share a chart: a colour and a dash each, lines alone once there are more than two, and a legend above.
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from evaluation.report.figures import MINUS, number
from evaluation.report.markup import Markup, el

WIDTH, HEIGHT = 320, 172
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 24
SMOOTH_FROM = 12
"""Fewer steps than this are drawn as they are."""

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Panel:
    """One curve: the first of `keys` that a run has is drawn."""

    title: str
    keys: tuple[str, ...]
    note: str = ""
    floor: float | None = None
    """Lowest value the axis must reach."""
    ceiling: float | None = None


PANELS = (
    Panel("Reward", ("reward", "reward_mean", "critic/score/mean", "critic/rewards/mean"), "mean of the batch"),
    Panel(
        "Success", ("success", "acc", "tool_rl/success", "tool_rl/acc", "reward_extra/acc/mean", "critic/acc/mean"),
        "share of rollouts fully right", 0.0, 1.0,
    ),
    Panel("Assistant turns", ("turns", "tool_rl/turns", "num_turns/mean"), "mean a rollout"),
    Panel("Valid calls", ("call_valid", "tool_rl/call_valid"), "share of calls that ran", None, 1.0),
    Panel("KL to the sampling policy", ("kl", "actor/ppo_kl"), "nats a token"),
    Panel("KL to the reference", ("actor/kl_loss", "actor/reward_kl_penalty"), "", 0.0),
    Panel("Entropy", ("entropy", "actor/entropy"), "nats a token", 0.0),
    Panel("Gradient norm", ("actor/grad_norm", "grad_norm"), "", 0.0),
    Panel("Response length", ("response_length/mean", "response_tokens"), "tokens, mean", 0.0),
    Panel("Throughput", ("tokens_per_s", "perf/throughput", "throughput"), "tokens a second", 0.0),
    Panel("Step time", ("step_s", "perf/time_per_step", "timing_s/step"), "seconds", 0.0),
)


def panel_points(panel: Panel, steps: Sequence[Mapping[str, Any]]) -> Points:
    """Return the finite points of a panel's first key that the steps have; empty when they have none."""
    for key in panel.keys:
        points = [(float(s["step"]), float(s[key])) for s in steps if key in s and math.isfinite(s[key])]
        if points:
            return points
    return []


class Series(NamedTuple):
    """The points of one run."""

    name: str
    """Empty where the chart has one run alone."""
    points: Points
    colour: str = "run0"


def curve(panel: Panel, series: Sequence[Series]) -> Markup:
    """Return a figure of one panel, one line a run; every run has points."""
    label = f"{panel.title}: " + "; ".join(_words(each) for each in series)
    last = el("output", number(series[0].points[-1][1])) if len(series) == 1 else None
    caption = el("figcaption", el("b", panel.title), el("span", panel.note), last)
    return el("figure", caption, _svg(panel, series, label), class_="curve")


def legend(names: Mapping[str, str]) -> Markup:
    """Return the names of runs with their colours and dashes."""
    items = [
        el("li", el("svg", el("line", x1=0, x2=28, y1=5, y2=5, class_="line"), viewBox="0 0 28 10", aria_hidden="true",
                    class_=colour), name)
        for name, colour in names.items()
    ]  # fmt: skip
    return el("ul", items, class_="legend")


def smooth(values: Sequence[float], window: int) -> list[float]:
    """Return the centred running mean, with what there is of the window at the ends."""
    half = window // 2
    parts = [values[max(0, i - half) : i + half + 1] for i in range(len(values))]
    return [sum(p) / len(p) for p in parts]


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return round values from `low` to `high`, at most `most` + 1 of them; `high` must exceed `low`."""
    raw = (high - low) / most
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next((m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * (1 - 1e-9)), 10 * magnitude)
    start = math.ceil(low / step - 1e-9)
    count = math.floor(high / step + 1e-9) - start + 1
    return [round((start + i) * step, 12) for i in range(count)]


@dataclass(frozen=True)
class Frame:
    """The axes of a chart: from data to the drawing."""

    x0: float
    x1: float
    low: float
    high: float

    def x(self, x: float) -> str:
        """Return where a step stands."""
        part = (x - self.x0) / (self.x1 - self.x0) if self.x1 > self.x0 else 0.5
        return f"{LEFT + (WIDTH - LEFT - RIGHT) * part:.1f}"

    def y(self, y: float) -> str:
        """Return where a value stands."""
        return f"{TOP + (HEIGHT - TOP - BOTTOM) * (1 - (y - self.low) / (self.high - self.low)):.1f}"

    def axes(self) -> list[Any]:
        """Return lines across with their values, and the steps below."""
        heights = ticks(self.low, self.high)
        signs = [f"{t:,.{_decimals(heights)}f}".replace(",", " ").replace("-", MINUS) for t in heights]
        grid = [
            (el("line", x1=LEFT, x2=WIDTH - RIGHT, y1=self.y(t), y2=self.y(t), class_="grid"),
             el("text", sign, x=LEFT - 6, y=f"{float(self.y(t)) + 3.5:.1f}", class_="tick end"))
            for t, sign in zip(heights, signs, strict=True)
        ]  # fmt: skip
        steps = [el("text", f"{m:.0f}", x=self.x(m), y=HEIGHT - 7, class_="tick middle") for m in self._marks()]
        return [grid, steps]

    def _marks(self) -> list[float]:
        x0, x1 = self.x0, self.x1
        marks = sorted({x0, x1, *(t for t in ticks(x0, x1) if t == int(t))}) if x1 > x0 else [x0]
        return [m for m in marks if m in (x0, x1) or min(m - x0, x1 - m) > (x1 - x0) * 0.08]


def frame_of(panel: Panel, series: Sequence[Points]) -> Frame:
    """Return axes that hold all points."""
    steps = [x for points in series for x, _ in points]
    low, high = _range(panel, [y for points in series for _, y in points])
    return Frame(min(steps), max(steps), low, high)


def _svg(panel: Panel, series: Sequence[Series], label: str) -> Markup:
    frame = frame_of(panel, [each.points for each in series])
    drawn = [_line(frame, each, dots=len(series) <= 2) for each in series]
    return el("svg", frame.axes(), drawn, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)


def _line(frame: Frame, series: Series, dots: bool) -> Markup:
    points = series.points
    several = len(points) >= SMOOTH_FROM
    values = smooth([y for _, y in points], max(3, len(points) // 8 | 1)) if several else [y for _, y in points]
    path = " ".join(f"{frame.x(x)},{frame.y(y)}" for (x, _), y in zip(points, values, strict=True))
    name = f"{series.name}, " if series.name else ""
    marks = [
        el("circle", el("title", f"{name}step {x:.0f}: {number(y)}"), cx=frame.x(x), cy=frame.y(y), r=2)
        for x, y in points
    ]
    shown = el("g", marks, class_="dots faint" if several or not dots else "dots") if dots or len(points) == 1 else None
    title = el("title", series.name) if series.name else None
    return el("g", shown, el("polyline", title, points=path, class_="line"), class_=series.colour)


def _words(series: Series) -> str:
    first, last = series.points[0], series.points[-1]
    name = f"{series.name} " if series.name else ""
    return f"{name}{number(first[1])} at step {first[0]:.0f}, {number(last[1])} at step {last[0]:.0f}"


def _decimals(values: Sequence[float]) -> int:
    """Return the fewest decimals that write all values exactly, at most 6."""
    return next((d for d in range(6) if all(math.isclose(round(v, d), v, abs_tol=1e-12) for v in values)), 6)


def _range(panel: Panel, values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of the axis: a little beyond the values, with the panel's floor and ceiling in it."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.08 or abs(high) * 0.1 or 1.0
    low = low - margin if panel.floor is None else min(panel.floor, low)
    high = high + margin if panel.ceiling is None else max(panel.ceiling, high)
    return low, high if high > low else low + 1.0
