"""Scores as the leaderboard computes them from the accuracies of its categories.

    simple       = mean(simple_python, simple_java, simple_javascript)
    non_live     = mean(simple, multiple, parallel, parallel_multiple)
    live         = right / rows over live_simple, live_multiple, live_parallel, live_parallel_multiple
    irrelevance  = mean(irrelevance, live_irrelevance)
    multi_turn   = mean(base, miss_func, miss_param, long_context)
    overall      = 0.10 non_live + 0.10 live + 0.10 irrelevance + 0.30 multi_turn + 0.40 agentic

`live_relevance` is told and counts for nothing. A category that was not run counts as 0, with all its rows in `live`,
as it does there. Agentic categories (web search, memory) are not covered here, so `overall` is at most 0.6: the number
the leaderboard would print. `overall_covered` divides by the weights of the groups of which every category was run; it
is no number of the leaderboard.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from BFCL.data.categories import CATEGORIES, LIVE, MULTI_TURN, ROWS, known
from environment.core.errors import DataError

WEIGHTS: Mapping[str, float] = {"non_live": 0.1, "live": 0.1, "irrelevance": 0.1, "multi_turn": 0.3, "agentic": 0.4}

_SIMPLE = ("simple_python", "simple_java", "simple_javascript")
GROUPS: Mapping[str, tuple[str, ...]] = {
    "non_live": (*_SIMPLE, "multiple", "parallel", "parallel_multiple"),
    "live": tuple(LIVE),
    "irrelevance": ("irrelevance", "live_irrelevance"),
    "multi_turn": tuple(MULTI_TURN),
}
"""The categories of each group that is covered."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Rows of one category that were judged."""

    right: int
    rows: int

    def __post_init__(self) -> None:
        if not 0 <= self.right <= self.rows or not self.rows:
            raise DataError("no tally", got=(self.right, self.rows), expected="0 <= right <= rows, at least one row")

    @property
    def accuracy(self) -> float:
        """Share of rows that are right."""
        return self.right / self.rows


@dataclass(frozen=True, slots=True)
class Scores:
    """What the leaderboard's table says, each a share from 0 to 1."""

    categories: Mapping[str, float]
    """Of the categories that were run."""
    groups: Mapping[str, float]
    overall: float
    """As the leaderboard has it: what was not run is 0."""
    overall_covered: float | None
    """Over the groups that were run whole; None where none was."""
    missing: tuple[str, ...]
    """Categories covered here that were not run."""
    partial: tuple[str, ...]
    """Categories of which not every row was run."""


def leaderboard(tallies: Mapping[str, Tally]) -> Scores:
    """Return the scores of one model; DataError where a category is unknown."""
    for category in tallies:
        known(category)
    groups = {
        "non_live": _non_live(tallies),
        "live": _weighted(tallies, LIVE),
        "irrelevance": _mean(_accuracy(tallies, name) for name in GROUPS["irrelevance"]),
        "multi_turn": _mean(_accuracy(tallies, name) for name in MULTI_TURN),
    }
    whole = [name for name, parts in GROUPS.items() if all(part in tallies for part in parts)]
    weight = sum(WEIGHTS[name] for name in whole)
    return Scores(
        categories={name: tallies[name].accuracy for name in CATEGORIES if name in tallies},
        groups=groups,
        overall=sum(WEIGHTS[name] * groups[name] for name in groups),
        overall_covered=sum(WEIGHTS[name] * groups[name] for name in whole) / weight if whole else None,
        missing=tuple(name for name in CATEGORIES if name not in tallies),
        partial=tuple(name for name in CATEGORIES if name in tallies and tallies[name].rows < ROWS[name]),
    )


def _non_live(tallies: Mapping[str, Tally]) -> float:
    simple = _mean(_accuracy(tallies, name) for name in _SIMPLE)
    return _mean([simple, *(_accuracy(tallies, name) for name in ("multiple", "parallel", "parallel_multiple"))])


def _weighted(tallies: Mapping[str, Tally], categories: Iterable[str]) -> float:
    counted = [tallies.get(name, Tally(0, ROWS[name])) for name in categories]
    return sum(tally.right for tally in counted) / sum(tally.rows for tally in counted)


def _accuracy(tallies: Mapping[str, Tally], category: str) -> float:
    return tallies[category].accuracy if category in tallies else 0.0


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
