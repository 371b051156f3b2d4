"""Markup, figures and curves, each by its properties."""
from __future__ import annotations

import html
import math
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.report.curves import PANELS, Panel, Series, curve, panel_points, smooth, ticks
from evaluation.report.figures import DASH, duration, number, probability, share, signed
from evaluation.report.markup import Markup, el, join, text

FINITE = st.floats(-1e9, 1e9, allow_subnormal=False)


@given(st.text())
def test_text_never_opens_a_tag_or_leaves_an_attribute(value: str) -> None:
    shown = text(value)
    assert not set("<>\"'") & set(shown)
    assert re.fullmatch(r'<p title="[^"<>]*">[^<>]*</p>', el("p", value, title=value), re.DOTALL)


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "S", "Zs"])))
def test_readable_text_reads_back_as_it_was(value: str) -> None:
    assert html.unescape(text(value)) == value


def test_elements_nest_flatten_and_drop_nothing_but_none_and_false() -> None:
    inner = [el("b", 1), None, False, ["x", (Markup("<i></i>"),)], 0]
    assert el("p", inner, class_="a", aria_label="l", open=True, title=None) == (
        '<p class="a" aria-label="l" open><b>1</b>x<i></i>0</p>'
    )
    assert join([]) == ""
    assert el("br") == "<br>"
    assert el("svg", viewBox="0 0 1 1") == '<svg viewBox="0 0 1 1"></svg>'


@given(FINITE, st.floats(1e-6, 1e9))
def test_ticks_are_few_even_and_inside(low: float, width: float) -> None:
    high = low + width
    if high - low < 1e-9 * max(abs(low), 1):
        return
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    slack = 1e-6 * (high - low) + 1e-11 + 1e-12 * abs(high)
    assert all(low - slack <= t <= high + slack for t in found)
    gaps = [b - a for a, b in pairwise(found)]
    assert all(math.isclose(g, gaps[0], rel_tol=1e-3, abs_tol=1e-11) for g in gaps)


@given(st.lists(FINITE, min_size=1, max_size=50), st.integers(1, 15))
def test_smoothing_stays_within_the_values_and_keeps_constants(values: list[float], window: int) -> None:
    found = smooth(values, window)
    slack = 1e-6 * max(1, *map(abs, values))
    assert len(found) == len(values)
    assert min(values) - slack <= min(found) <= max(found) <= max(values) + slack
    assert smooth([3.0] * len(values), window) == [3.0] * len(values)


@settings(max_examples=40)
@given(st.lists(FINITE, min_size=1, max_size=40), st.sampled_from(PANELS))
def test_a_curve_stays_inside_its_frame(values: list[float], panel: Panel) -> None:
    drawn = curve(panel, [Series("", list(enumerate(values, 1)))])
    places = re.search(r'points="([^"]*)"', drawn)
    assert places is not None
    points = [tuple(map(float, p.split(","))) for p in places.group(1).split()]
    assert len(points) == len(values)
    assert all(0 <= x <= 320 and -1 <= y <= 173 for x, y in points)
    assert "nan" not in drawn


def test_a_panel_takes_its_first_key_and_leaves_out_what_is_not_finite() -> None:
    panel = Panel("x", ("first", "second"))
    steps = [{"step": 1, "second": 1.0}, {"step": 2, "second": math.nan}, {"step": 3, "second": math.inf, "third": 1}]
    assert panel_points(panel, steps) == [(1.0, 1.0)]
    assert panel_points(panel, [*steps, {"step": 4, "first": 5}]) == [(4.0, 5.0)]
    assert panel_points(panel, []) == []


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(0.81234), "0.81"),
        (number(2.84), "2.84"),
        (number(18.84), "18.8"),
        (number(989.4), "989"),
        (number(12345.6), "12 346"),
        (number(0.0), "0"),
        (number(-0.5), "−0.50"),
        (number(0.00002), "2.0e−5"),
        (number(None), DASH),
        (share(0.5), "50.0 %"),
        (share(None), DASH),
        (signed("success_rate", 0.0312), "+3.1"),
        (signed("success_rate", -0.0312), "−3.1"),
        (signed("reward_mean", -0.0001), "0.000"),
        (signed("success_rate", None), DASH),
        (probability(0.0001), "< 0.001"),
        (probability(0.25), "0.250"),
        (probability(None), ""),
        (duration(3.21), "3.2 s"),
        (duration(741), "12 min 21 s"),
        (duration(7261), "2 h 01 min"),
        (duration(None), DASH),
    ],
)
def test_figures_read_as_people_write_them(shown: str, expected: str) -> None:
    assert shown.replace(" ", " ") == expected
