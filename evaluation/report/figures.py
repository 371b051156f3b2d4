"""Figures as people read them: percent, points, durations, counts."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MINUS = "−"
DASH = "–"
NAMES = {
    "success_rate": "Greedy success",
    "turn_accuracy": "Turn accuracy",
    "call_accuracy": "Call accuracy",
    "reward_mean": "Mean reward, greedy",
    "sampled_reward_mean": "Mean reward, sampled",
    "calls_mean": "Calls a task",
}
MODELS = {"base": "Base", "sft": "After SFT", "rl": "After RL"}
COLOURS = 8
"""So many runs have a colour of their own; then they begin again."""


@dataclass(frozen=True)
class Look:
    """How the columns of tables and the rows of charts are called and coloured."""

    title: Callable[[str], str]
    colour: Callable[[str], str]
    """Class of the style sheet: `base`, `sft`, `rl`, `other`, `run0`…"""


def name_of(figure: str) -> str:
    """Return the title of a figure."""
    for prefix, title in (("avg_at_", "avg@"), ("pass_at_", "pass@"), ("pass_hat_", "pass^")):
        if figure.startswith(prefix):
            return title + figure.removeprefix(prefix)
    return NAMES.get(figure, figure.replace("_", " "))


def model_name(model: str) -> str:
    """Return the title of a model."""
    return MODELS.get(model, model)


def is_share(figure: str) -> bool:
    """Say whether a figure is a share of items or calls; means of anything else are named `…_mean`."""
    return not figure.endswith("_mean")


def model_colour(model: str) -> str:
    """Return the colour of a model."""
    return model if model in MODELS else "other"


MODEL_LOOK = Look(model_name, model_colour)
"""Evaluations named by model."""


def run_look(names: Sequence[str]) -> Look:
    """Return how runs look: called as they are, each with the colour of its place."""
    place = {name: i for i, name in enumerate(names)}
    return Look(lambda name: name, lambda name: f"run{place.get(name, 0) % COLOURS}")


def share(value: float | None) -> str:
    """Return a share in percent."""
    return DASH if value is None else f"{100 * value:.1f} %"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many significant digits, without exponents between 0.001 and a million."""
    if value is None:
        return DASH
    size = abs(value)
    if value and (size < 1e-3 or size >= 1e6):
        return f"{value:.1e}".replace("-", MINUS).replace("e+0", "e").replace(f"e{MINUS}0", f"e{MINUS}")
    if size >= 10 ** (digits - 1) or value == int(value):
        return f"{value:,.0f}".replace(",", " ").replace("-", MINUS)
    whole = len(str(int(size))) if size >= 1 else 0
    return f"{value:.{digits - whole if whole else digits - 1}f}".replace("-", MINUS)


def count(value: int) -> str:
    """Return a whole number, its thousands apart."""
    return f"{value:,}".replace(",", " ")


def estimate(figure: str, value: float | None) -> str:
    """Return the value of a figure in its own unit."""
    return share(value) if is_share(figure) else number(value)


def span(figure: str, interval: Mapping[str, Any]) -> str:
    """Return the ends of an interval in the unit of its figure."""
    low, high = interval.get("low"), interval.get("high")
    if low is None or high is None or interval.get("value") is None:
        return ""
    ends = (f"{100 * low:.1f}", f"{100 * high:.1f}") if is_share(figure) else (number(low), number(high))
    return " to ".join(ends).replace("-", MINUS)


def signed(figure: str, value: float | None) -> str:
    """Return a difference with its sign: points for shares, plain numbers otherwise."""
    if value is None:
        return DASH
    shown = f"{100 * value:+.1f}" if is_share(figure) else f"{value:+.3f}"
    return (shown if shown.strip("+-0.") else shown.lstrip("+-")).replace("-", MINUS)


def probability(value: float | None) -> str:
    """Return a p value."""
    if value is None:
        return ""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def duration(seconds: float | None) -> str:
    """Return seconds as people say them."""
    if seconds is None:
        return DASH
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s"
