"""The benchmark's figures, by both rule sets, over all entries and by domain and length.

    success rate    entries solved / entries                               Wilson
    turn accuracy   Σ gold turns done / Σ gold turns                       bootstrap over entries
    call accuracy   Σ right calls / Σ gold calls                           bootstrap over entries
    completeness, correctness   mean grade, 0 to 2, over answers that got one
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evaluation import tally
from evaluation.metrics import rate, ratio
from evaluation.suite import Item, Judged
from evaluation.suites.complexfuncbench.entries import Entry

FEW = 100
"""Fewer entries than this say little: the benchmark has 1 000."""
Count = tuple[bool, int, int, int, int]
"""(solved, turns done, turns, right calls, gold calls) of one entry."""


def summary_of(
    items: Sequence[Item[Entry]], judged: Sequence[Judged], rules: str, samples: int, seed: int
) -> dict[str, Any]:
    """Return the whole summary, with the figures of the leading rule set at its top and both under `rules`."""
    amounts = [n for n in ("calls_mean", "completeness", "correctness") if any(_has(j, n) for j in judged)]
    shown = tally.Figures(amounts=amounts, about=_about, few=FEW)
    found = {"suite": "complexfuncbench", **tally.summarise(items, judged, shown, samples, seed)}
    greedy = {j.item.id: j.outcome.to_json() for j in judged if j.sample == 0 and j.outcome is not None}
    counts = {name: {i: count(mark) for i, mark in greedy.items()} for name, count in _COUNTS.items()}
    found |= _figures(list(counts[rules].values()), seed)
    for label in ("domain", "length"):
        for value, row in found[f"by_{label}"].items():
            group = [counts[rules][i.id] for i in items if i.labels[label] == value and i.id in greedy]
            row |= _figures(group, seed)
    both = {name: _figures(list(by_item.values()), seed) for name, by_item in counts.items()}
    return {**found, "leading_rules": rules, "rules": both, "rules_differ": _difference(greedy)}


def _figures(counts: Sequence[Count], seed: int) -> dict[str, Any]:
    return {
        "success_rate": rate([c[0] for c in counts]).to_json(),
        "turn_accuracy": ratio([c[1] for c in counts], [c[2] for c in counts], seed).to_json(),
        "call_accuracy": ratio([c[3] for c in counts], [c[4] for c in counts], seed).to_json(),
    }


def _strict_count(mark: Mapping[str, Any]) -> Count:
    row = mark["strict"]
    return row["success"], row["success_turns"], row["turns"], row["right_calls"], row["gold_calls"]


def _reference_count(mark: Mapping[str, Any]) -> Count:
    row = mark["reference"]
    turns, calls = (row["success_turn_num"], row["total_turn_num"]), (row["correct_call_num"], row["total_call_num"])
    return row["success"], *turns, *calls


_COUNTS: dict[str, Callable[[Mapping[str, Any]], Count]] = {"strict": _strict_count, "reference": _reference_count}


def _difference(greedy: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return where the rule sets disagree, and by which fault the strict one says no."""
    only_reference = [m for m in greedy.values() if m["reference"]["success"] and not m["strict"]["success"]]
    faults = sorted({m["strict"]["fault"] for m in only_reference})
    return {
        "both": sum(m["strict"]["success"] and m["reference"]["success"] for m in greedy.values()),
        "only_strict": sum(m["strict"]["success"] and not m["reference"]["success"] for m in greedy.values()),
        "only_reference": len(only_reference),
        "only_reference_by_fault": {f: sum(m["strict"]["fault"] == f for m in only_reference) for f in faults},
    }


def _about(item: Item[Entry]) -> dict[str, Any]:
    entry = item.case
    gold = [{"function": c.name, "arguments": dict(c.arguments)} for c in entry.calls]
    return {"domain": entry.domain, "length": len(entry.calls), "query": entry.query, "gold": gold}


def _has(judged: Judged, name: str) -> bool:
    return judged.outcome is not None and judged.outcome.figures.get(name) is not None
