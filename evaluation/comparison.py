"""`comparisons`: two results, wherever they lie, compared on the items both have.

    a summary (.json) │ a folder of summaries │ a run (its eval/)  ─►  pairs of summaries  ─►  paired differences

Where both sides hold several results, those of the same name are compared.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment.core.errors import DataError
from evaluation.compare import Summary, compare, read_summaries
from evaluation.metrics import Paired
from evaluation.tally import FEW_ITEMS


@dataclass(frozen=True)
class Comparison:
    """Two results side by side."""

    before: str
    after: str
    shared: int
    """Items that count in both."""
    figures: Mapping[str, Paired]
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        figures = {name: paired.to_json() for name, paired in self.figures.items()}
        named = {"before": self.before, "after": self.after, "shared": self.shared}
        return {**named, "figures": figures, "warnings": list(self.warnings)}


def comparisons(before: Path, after: Path) -> list[Comparison]:
    """Return the comparison of two results, or of each pair of the same name in two folders of them.

    Raises:
        DataError: a path holds no results, no names are in both, or no item is in both.
    """
    first, second = results_at(before), results_at(after)
    if len(first) == len(second) == 1:
        pairs = [(next(iter(first)), next(iter(second)))]
    else:
        pairs = [(name, name) for name in first if name in second]
    if not pairs:
        got = f"{', '.join(first)} and {', '.join(second)}"
        raise DataError("no result of the same name on both sides", got=got, fix="name two summary files (.json)")
    return [_compared(f"{before}: {a}", first[a], f"{after}: {b}", second[b]) for a, b in pairs]


def results_at(path: Path) -> dict[str, dict[str, Any]]:
    """Return the summaries at a path by name: of a file, of a folder, or of a run's `eval` folder."""
    if path.is_file():
        return {path.stem: _summary(path)}
    for folder in (path, path / "eval"):
        found = read_summaries(folder) if folder.is_dir() else {}
        if found:
            return found
    expected = "a summary (.json) of `tool-rl eval` or of a run, or a folder that holds some"
    raise DataError("no results", where=str(path), expected=expected)


def _summary(path: Path) -> dict[str, Any]:
    try:
        row: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"no summary can be read ({type(error).__name__}: {error})", where=str(path)) from error
    if not isinstance(row, dict) or not isinstance(row.get("items"), list):
        raise DataError("no summary", where=str(path), expected="the NAME.json of an evaluation")
    return row


def _compared(before: str, first: Summary, after: str, second: Summary) -> Comparison:
    here, there = _counted(first), _counted(second)
    shared = here & there
    if not shared:
        raise DataError("no item that counts is in both", where=f"{before} and {after}", fix="evaluate the same rows")
    warnings: list[str] = []
    if (alone := len(here ^ there)) > 0:
        warnings.append(f"{alone} items count on one side only and are left out")
    if len(shared) < FEW_ITEMS:
        warnings.append(f"only {len(shared)} items: small differences are noise")
    warnings += [f"{name} differs, so the results may not compare" for name in _unlike(first, second)]
    return Comparison(before, after, len(shared), compare(first, second), tuple(warnings))


def _counted(summary: Summary) -> set[str]:
    return {str(item["task_id"]) for item in summary["items"] if item.get("greedy") or item.get("sampled")}


def _unlike(first: Summary, second: Summary) -> list[str]:
    """Return what of the items and rules, beside the model, is not the same on both sides."""
    one, other = first.get("settings") or {}, second.get("settings") or {}
    names = ("suite", "suite_version", "rows", "data", "world", "rules", "limits", "instructions", "schemas")
    return [n for n in names if one.get(n) != other.get(n)]
