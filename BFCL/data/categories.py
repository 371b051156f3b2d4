"""The leaderboard's categories that can be run and judged offline, and how many rows each has."""
from __future__ import annotations

from collections.abc import Mapping

from environment.core.errors import DataError, nearest_name

NON_LIVE: Mapping[str, int] = {
    "simple_python": 400,
    "simple_java": 100,
    "simple_javascript": 50,
    "multiple": 200,
    "parallel": 200,
    "parallel_multiple": 200,
}
LIVE: Mapping[str, int] = {
    "live_simple": 258,
    "live_multiple": 1053,
    "live_parallel": 16,
    "live_parallel_multiple": 24,
}
RELEVANCE: Mapping[str, int] = {"irrelevance": 240, "live_irrelevance": 884, "live_relevance": 16}
"""Without accepted answers: it only counts whether anything was called."""
MULTI_TURN: Mapping[str, int] = {
    "multi_turn_base": 200,
    "multi_turn_miss_func": 200,
    "multi_turn_miss_param": 200,
    "multi_turn_long_context": 200,
}

AST = (*NON_LIVE, *LIVE)
"""Single-turn categories with accepted answers."""
SINGLE_TURN = (*AST, *RELEVANCE)
CATEGORIES = (*SINGLE_TURN, *MULTI_TURN)
ROWS: Mapping[str, int] = {**NON_LIVE, **LIVE, **RELEVANCE, **MULTI_TURN}

NOT_COVERED: Mapping[str, str] = {
    "web_search_base": "asks a search service",
    "web_search_no_snippet": "asks a search service",
    "memory_kv": "needs a model of another kind beside the one that is judged",
    "memory_vector": "needs a model of another kind beside the one that is judged",
    "memory_rec_sum": "needs a model of another kind beside the one that is judged",
    "format_sensitivity": "counts for no score",
}
"""Categories left out, and why."""


def known(category: str, among: tuple[str, ...] = CATEGORIES) -> str:
    """Return a category's name; DataError with the nearest one where it is none of those."""
    if category in among:
        return category
    fix = NOT_COVERED.get(category)
    raise DataError(
        "unknown category",
        got=category,
        expected="one of " + ", ".join(among),
        nearest=nearest_name(category, among),
        fix=f"{category} is not covered: it {fix}" if fix else None,
    )
