# pyright: basic
"""The leaderboard's arithmetic: means of means, weights, and what was not run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from BFCL.check.leaderboard import GROUPS, WEIGHTS, Tally, leaderboard
from BFCL.check.relevance import CALLED, NOT_CALLED, check_relevance
from BFCL.data.categories import CATEGORIES, LIVE, ROWS
from environment.core.errors import DataError

ALL_RIGHT = {name: Tally(rows, rows) for name, rows in ROWS.items()}


def test_the_weights_are_whole_and_all_right_is_six_tenths() -> None:
    found = leaderboard(ALL_RIGHT)
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert found.overall == pytest.approx(0.6) and found.overall_covered == pytest.approx(1)
    assert set(found.groups.values()) == {1.0} and not found.missing and not found.partial


def test_simple_is_a_mean_of_languages_and_one_of_four() -> None:
    found = leaderboard({**ALL_RIGHT, "simple_javascript": Tally(0, 50)})
    assert found.groups["non_live"] == pytest.approx((2 / 3 + 3) / 4)


def test_live_counts_rows_and_the_rest_counts_categories() -> None:
    found = leaderboard({**ALL_RIGHT, "live_parallel": Tally(0, 16), "multi_turn_base": Tally(0, 200)})
    assert found.groups["live"] == pytest.approx(1 - 16 / sum(LIVE.values()))
    assert found.groups["multi_turn"] == pytest.approx(3 / 4)


def test_relevance_counts_for_nothing() -> None:
    assert leaderboard({**ALL_RIGHT, "live_relevance": Tally(0, 16)}).overall == leaderboard(ALL_RIGHT).overall


def test_what_was_not_run_is_nought_and_is_named() -> None:
    found = leaderboard({"multi_turn_base": Tally(3, 4)})
    assert found.groups == {"non_live": 0, "live": 0, "irrelevance": 0, "multi_turn": 0.75 / 4}
    assert found.overall == pytest.approx(0.3 * 0.75 / 4) and found.overall_covered is None
    assert found.partial == ("multi_turn_base",) and set(found.missing) == set(CATEGORIES) - {"multi_turn_base"}


def test_covered_is_over_the_groups_that_were_run_whole() -> None:
    found = leaderboard({name: Tally(ROWS[name] // 2, ROWS[name]) for name in (*GROUPS["irrelevance"], "live_simple")})
    assert found.overall_covered == pytest.approx(0.5)


def test_a_category_that_does_not_exist() -> None:
    with pytest.raises(DataError, match="live_simple"):
        leaderboard({"live_simpel": Tally(1, 1)})


@pytest.mark.parametrize(("right", "rows"), [(0, 0), (2, 1), (-1, 4)])
def test_no_tally(right: int, rows: int) -> None:
    with pytest.raises(DataError, match="no tally"):
        Tally(right, rows)


@given(st.dictionaries(st.sampled_from(CATEGORIES), st.integers(0, 40), max_size=6))
def test_scores_are_shares_and_more_right_is_never_less(right: dict[str, int]) -> None:
    tallies = {name: Tally(count, 40) for name, count in right.items()}
    found = leaderboard(tallies)
    assert 0 <= found.overall <= 0.6 and all(0 <= share <= 1 for share in found.groups.values())
    better = leaderboard({name: Tally(min(40, tally.right + 1), 40) for name, tally in tallies.items()})
    assert better.overall >= found.overall - 1e-12


@pytest.mark.parametrize(
    ("category", "calls", "error"),
    [
        ("irrelevance", None, ""),
        ("live_irrelevance", [], ""),
        ("irrelevance", [{}], ""),
        ("irrelevance", [{"f": {}}], CALLED),
        ("live_relevance", [{"f": {"a": 1}}, {"g": {}}], ""),
        ("live_relevance", None, NOT_CALLED),
        ("live_relevance", [], NOT_CALLED),
    ],
)
def test_relevance(category: str, calls: list[dict[str, dict[str, int]]] | None, error: str) -> None:
    assert check_relevance(category, calls).error_type == error
