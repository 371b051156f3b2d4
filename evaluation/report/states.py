"""States of the assistant's turns over training, stacked, with the early warning of a collapse as a line.

    structure/<state>_rate    share of turns in a state; the four add up to one (BFCL.check.structure)
    structure/early_warning   share of opened calls behind which the turn ended at once
"""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from BFCL.check.structure import TurnState
from evaluation.report.curves import HEIGHT, WIDTH, Frame
from evaluation.report.figures import share
from evaluation.report.markup import Markup, el

WORDS = {
    TurnState.HEALTHY_CALL: "healthy call", TurnState.HEALTHY_TEXT: "healthy text",
    TurnState.POLLUTED: "polluted", TurnState.COLLAPSED: "collapsed",
}  # fmt: skip
WARNING = "structure/early_warning"


def states_chart(steps: Sequence[Mapping[str, Any]], title: str) -> Markup | None:
    """Return the chart of a run's steps, None where they say nothing of states."""
    known = [(float(s["step"]), rates) for s in steps if (rates := _rates(s)) is not None]
    if not known:
        return None
    frame = Frame(known[0][0], known[-1][0], 0.0, 1.0)
    tops = [list(accumulate(rates)) for _, rates in known]
    bands = [_band(frame, [x for x, _ in known], tops, i, state) for i, state in enumerate(TurnState)]
    warned = [(float(s["step"]), float(s[WARNING])) for s in steps if _is_share(s.get(WARNING))]
    path = " ".join(f"{frame.x(x)},{frame.y(y)}" for x, y in warned)
    warning = el("polyline", el("title", "early warning"), points=path, class_="warning-line") if warned else None
    last = ", ".join(f"{WORDS[state]} {share(rate)}" for state, rate in zip(TurnState, known[-1][1], strict=True))
    label = f"{title}, states of turns at step {known[-1][0]:.0f}: {last}"
    svg = el("svg", bands, frame.axes(), warning, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)
    return el("figure", el("figcaption", el("b", title)), svg, class_="curve states")


def states_legend(warned: bool) -> Markup:
    """Return what the colours mean."""
    items = [el("li", el("span", class_=f"swatch {state.value}"), words) for state, words in WORDS.items()]
    line = el("li", el("span", class_="swatch early"), "early warning: opened calls that ended at once")
    return el("ul", items, line if warned else None, class_="legend")


def _band(
    frame: Frame, xs: Sequence[float], tops: Sequence[Sequence[float]], place: int, state: TurnState
) -> Markup:
    """Return one state between those below it and itself; a single step is drawn as wide as the frame."""
    if len(xs) == 1:
        xs, tops = [frame.x0 - 0.5, frame.x0 + 0.5], [tops[0], tops[0]]
        frame = Frame(xs[0], xs[1], frame.low, frame.high)
    upper = [(x, top[place]) for x, top in zip(xs, tops, strict=True)]
    lower = [(x, top[place - 1] if place else 0.0) for x, top in zip(xs, tops, strict=True)]
    points = " ".join(f"{frame.x(x)},{frame.y(min(y, 1.0))}" for x, y in (*upper, *reversed(lower)))
    return el("polygon", el("title", WORDS[state]), points=points, class_=f"band {state.value}")


def _rates(step: Mapping[str, Any]) -> list[float] | None:
    values = [step.get(f"structure/{state.value}_rate") for state in TurnState]
    return [float(v) for v in values if _is_share(v) and v is not None] if all(map(_is_share, values)) else None


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= 1
