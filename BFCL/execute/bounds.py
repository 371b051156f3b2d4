"""Calls whose work no deadline could interrupt: one operation of C that grows with a number the model chose.

Only `MathAPI` has such methods. The bounds are far beyond what any row needs: Python refuses to print a number of more
than 4300 digits anyway, so that a refused power would have ended as an error too.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

MOST_DIGITS = 4300
"""Decimal digits of a result, of a precision asked for, and of a rounding to the left of the point."""

_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "power": ("base", "exponent"),
    "logarithm": ("value", "base", "precision"),
    "square_root": ("number", "precision"),
    "round_number": ("number", "decimal_places"),
}


def refusal(owner: str, method: str, positional: Sequence[Any], keywords: Mapping[str, Any]) -> str:
    """Return why a call is not made, "" where it may be."""
    if owner != "MathAPI" or method not in _PARAMETERS:
        return ""
    given = {**dict(zip(_PARAMETERS[method], positional, strict=False)), **keywords}
    return _JUDGES[method](given)


def _power(given: Mapping[str, Any]) -> str:
    base, exponent = given.get("base"), given.get("exponent")
    if isinstance(base, int) and isinstance(exponent, int) and exponent * base.bit_length() > 4 * MOST_DIGITS:
        return f"the result would have more than {MOST_DIGITS} digits"
    return ""


def _precise(given: Mapping[str, Any]) -> str:
    precision = given.get("precision")
    if isinstance(precision, int | float) and abs(precision) > MOST_DIGITS:
        return f"the precision must be at most {MOST_DIGITS} digits"
    if any(isinstance(value, str) for value in given.values()):
        return "the arguments must be numbers"
    return ""


def _places(given: Mapping[str, Any]) -> str:
    places = given.get("decimal_places")
    if isinstance(places, int) and abs(places) > MOST_DIGITS:
        return f"a number can be rounded to at most {MOST_DIGITS} places"
    return ""


_JUDGES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "power": _power,
    "logarithm": _precise,
    "square_root": _precise,
    "round_number": _places,
}
