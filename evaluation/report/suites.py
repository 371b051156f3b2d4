"""Summaries of suites this report knows nothing of: their figures, breakdowns and warnings, by shape alone.

A figure is an object with `value`, `low` and `high`; a breakdown is a `by_…` of groups that hold figures.
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.report import tables
from evaluation.report.figures import model_name
from evaluation.report.forest import forest
from evaluation.report.markup import Markup, el

Suites = Mapping[str, Mapping[str, Mapping[str, Any]]]


def suite_blocks(suites: Suites) -> list[Markup]:
    """Return one block a suite."""
    return [_block(suite, found) for suite, found in sorted(suites.items())]


def _block(suite: str, found: Mapping[str, Mapping[str, Any]]) -> Markup:
    items = next(iter(found.values())).get("n")
    chart = forest("success_rate", found)
    blocks = [(key, tables.breakdown(found, key, tables.breakdown_name(key))) for key in tables.breakdowns(found)]
    warnings = [
        el("p", f"{model_name(name)}: {words}", class_="warning")
        for name, summary in found.items()
        for words in summary.get("warnings") or ()
    ]
    return el(
        "div",
        el("h3", suite, el("small", f" {items} items") if items is not None else None),
        el("div", chart, class_="forests") if chart else None,
        tables.before_after(found),
        warnings,
        [(el("h4", f"By {tables.breakdown_name(key).lower()}"), body) for key, body in blocks if body],
        (el("h4", "First mistake, greedy"), faults) if (faults := tables.faults(found)) else None,
        class_="suite",
    )
