"""Reading the settings of a reward: unknown names and odd values are refused by name, before anything runs."""
from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from environment.core.errors import ConfigError, nearest_name


def known_options(options: Mapping[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """Return the options; ConfigError names one that isn't known and the nearest that is."""
    names = [*known]
    for name in options:
        if name not in names:
            where, near = f"reward.weights.{name}", nearest_name(name, names)
            raise ConfigError("unknown option", where=where, expected="one of " + ", ".join(names), nearest=near)
    return dict(options)


def check_number(name: str, value: object, *, least: float = -math.inf, most: float = math.inf) -> None:
    """Raise ConfigError unless an option is a finite number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ConfigError("not a weight", where=f"reward.weights.{name}", got=value, expected="a finite number")
    if not least <= value <= most:
        expected = f"a finite number from {least:g} to {most:g}" if most < math.inf else f"at least {least:g}"
        raise ConfigError("out of range", where=f"reward.weights.{name}", got=value, expected=expected)
