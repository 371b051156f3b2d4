"""Figures as people read them: percent, points, durations, counts."""
from __future__ import annotations

from collections.abc import Mapping
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
PLAIN = frozenset({"reward_mean", "sampled_reward_mean", "calls_mean"})
"""Figures that are no share of items."""
MODELS = {"base": "Base", "sft": "After SFT", "rl": "After RL"}


def name_of(figure: str) -> str:
    """Return the title of a figure."""
    for prefix, title in (("avg_at_", "avg@"), ("pass_at_", "pass@"), ("pass_hat_", "pass^")):
        if figure.startswith(prefix):
            return title + figure.removeprefix(prefix)
    return NAMES.get(figure, figure.replace("_", " "))


def model_name(model: str) -> str:
    """Return the title of a model."""
    return MODELS.get(model, model)


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


def estimate(figure: str, value: float | None) -> str:
    """Return the value of a figure in its own unit."""
    return number(value) if figure in PLAIN else share(value)


def span(figure: str, interval: Mapping[str, Any]) -> str:
    """Return the ends of an interval in the unit of its figure."""
    low, high = interval.get("low"), interval.get("high")
    if low is None or high is None or interval.get("value") is None:
        return ""
    ends = (number(low), number(high)) if figure in PLAIN else (f"{100 * low:.1f}", f"{100 * high:.1f}")
    return " to ".join(ends).replace("-", MINUS)


def signed(figure: str, value: float | None) -> str:
    """Return a difference with its sign: points for shares, plain numbers otherwise."""
    if value is None:
        return DASH
    shown = f"{value:+.3f}" if figure in PLAIN else f"{100 * value:+.1f}"
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
