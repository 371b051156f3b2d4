"""Metrics: properties, published values, and the degenerate cases."""
from __future__ import annotations

from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.metrics import (
    Interval,
    avg_at_k,
    mcnemar_exact,
    mean,
    paired,
    pass_at_k,
    pass_hat_k,
    rate,
    ratio,
    wilson,
)


def ends(found: Interval) -> tuple[float, float, float]:
    """Return low, value and high of an interval that has all three."""
    assert found.low is not None and found.value is not None and found.high is not None
    return found.low, found.value, found.high


def width(found: Interval) -> float:
    """Return how wide an interval is."""
    return ends(found)[2] - ends(found)[0]


SHARES = st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=40)


@given(st.integers(0, 300), st.integers(0, 300))
def test_wilson_holds_its_rate_within_zero_and_one(a: int, b: int) -> None:
    found = wilson(a, a + b)
    if a + b == 0:
        assert (found.value, found.low, found.high) == (None, 0, 1)
    else:
        low, value, high = ends(found)
        assert 0 <= low <= value <= high <= 1


@given(st.integers(0, 100), st.integers(0, 100))
def test_wilson_mirrors_when_success_and_failure_change_places(a: int, b: int) -> None:
    assert wilson(a, a + b).low == pytest.approx(1 - (wilson(b, a + b).high or 0), abs=1e-12)


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17:857, table I, score method without continuity correction
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_agrees_with_published_intervals(successes: int, n: int, low: float, high: float) -> None:
    found = wilson(successes, n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


def test_more_items_narrow_the_interval() -> None:
    widths = [width(wilson(n // 2, n)) for n in (10, 40, 160, 640)]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] / widths[2] == pytest.approx(4, rel=0.2)


@settings(max_examples=30, deadline=None)
@given(SHARES)
def test_a_mean_lies_in_its_interval_and_the_interval_in_the_range(values: list[float]) -> None:
    found = mean(values)
    low, value, high = ends(found)
    assert min(values) <= low <= value <= high <= max(values)
    assert found == mean(values)


@settings(max_examples=20, deadline=None)
@given(SHARES, st.floats(-5, 5))
def test_a_shift_of_all_values_shifts_the_interval(values: list[float], shift: float) -> None:
    before, after = ends(mean(values)), ends(mean([v + shift for v in values]))
    assert after == pytest.approx([v + shift for v in before], abs=1e-9)


def test_nothing_to_measure_has_no_value() -> None:
    assert mean([]).value is None
    assert rate([]).value is None
    assert avg_at_k([[], []]).n == 0


def test_equal_shares_at_an_end_keep_a_doubt_that_other_values_do_not() -> None:
    assert mean([0.0] * 20, shares=True) == wilson(0, 20)
    assert mean([1.0] * 20, shares=True) == wilson(20, 20)
    assert mean([0.5] * 20, shares=True).low == 0.5
    assert mean([0.0] * 20).high == 0.0


def test_bootstrap_interval_of_a_coin_is_about_wilsons() -> None:
    found, expected = mean([1.0] * 30 + [0.0] * 34), wilson(30, 64)
    assert found.low == pytest.approx(expected.low, abs=0.03)
    assert found.high == pytest.approx(expected.high, abs=0.03)


@given(st.lists(st.lists(st.integers(0, 1), min_size=4, max_size=4), min_size=1, max_size=12))
@settings(max_examples=20, deadline=None)
def test_avg_at_k_counts_items_not_samples(groups: list[list[int]]) -> None:
    found = avg_at_k([[float(x) for x in g] for g in groups])
    assert found.n == len(groups)
    assert found.value == pytest.approx(sum(map(sum, groups)) / (4 * len(groups)))


@given(st.integers(1, 7), st.data())
@settings(max_examples=40, deadline=None)
def test_pass_at_k_and_pass_hat_k_are_what_drawing_k_samples_gives(n: int, data: st.DataObject) -> None:
    successes, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    draws = list(combinations([1] * successes + [0] * (n - successes), k))
    assert pass_at_k(successes, n, k) == pytest.approx(fmean(max(d) for d in draws))
    assert pass_hat_k(successes, n, k) == pytest.approx(fmean(min(d) for d in draws))


@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_symmetric_and_a_probability(a: int, b: int) -> None:
    assert mcnemar_exact(a, b) == mcnemar_exact(b, a)
    assert 0 < mcnemar_exact(a, b) <= 1
    assert mcnemar_exact(a, a) == 1


def test_mcnemar_is_two_tails_of_a_fair_coin() -> None:
    assert mcnemar_exact(5, 0) == 2 / 32
    assert mcnemar_exact(9, 1) == pytest.approx(2 * 11 / 1024)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1))
@settings(max_examples=30, deadline=None)
def test_swapping_the_models_turns_the_difference_round(outcomes: dict[str, tuple[int, int]]) -> None:
    one, other = ({k: float(v[i]) for k, v in outcomes.items()} for i in (0, 1))
    there, back = paired(one, other, binary=True), paired(other, one, binary=True)
    assert there.difference.value == pytest.approx(-(back.difference.value or 0))
    assert (there.wins, there.losses, there.ties) == (back.losses, back.wins, back.ties)
    assert there.p_value == back.p_value
    assert there.wins + there.losses + there.ties == len(outcomes)


def test_only_shared_items_are_compared_and_pairing_narrows() -> None:
    before = {f"t{i}": float(i % 2) for i in range(60)}
    after = {**{k: min(1.0, v + (k in ("t0", "t2"))) for k, v in before.items()}, "new": 1.0}
    found = paired(before, after, binary=True)
    assert found.difference.n == 60
    assert width(found.difference) < width(wilson(30, 60))
    assert paired({}, after).difference.value is None
    assert paired({}, after, binary=True).p_value is None


COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30)


@settings(max_examples=50, deadline=None)
@given(COUNTS)
def test_a_ratio_of_sums_lies_within_its_interval_and_counts_items(pairs: list[tuple[int, int]]) -> None:
    parts, wholes = [min(p) for p in pairs], [max(p) for p in pairs]
    found = ratio(parts, wholes)
    if not sum(wholes):
        assert (found.value, found.n) == (None, 0)
        return
    low, value, high = ends(found)
    assert value == pytest.approx(sum(parts) / sum(wholes)) and found.n == len(pairs)
    assert 0 <= low <= value <= high <= 1
    assert ratio(parts, wholes) == found


def test_a_ratio_weighs_items_by_their_size_and_knows_doubt_at_the_ends() -> None:
    assert ratio([1, 9], [1, 99]).value == pytest.approx(0.1)
    assert ends(ratio([3, 3], [3, 3]))[0] < 1 and ends(ratio([0, 0], [3, 3]))[2] > 0
    assert width(ratio([1, 0] * 500, [1, 1] * 500)) < width(ratio([1, 0] * 5, [1, 1] * 5)) / 5
