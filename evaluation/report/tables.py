"""Tables of the report: before and after, paired differences, breakdowns, faults, seeds, time."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.compare import PAIRS, compare
from evaluation.metrics import Paired
from evaluation.report.figures import (
    DASH,
    duration,
    estimate,
    model_name,
    name_of,
    number,
    probability,
    share,
    signed,
    span,
)
from evaluation.report.markup import Markup, el

Evaluations = Mapping[str, Mapping[str, Any]]
FAULTS = {
    "none": "fully right",
    "no_call": "no call at all",
    "malformed": "unreadable call",
    "missing_step": "a step is missing",
    "wrong_value": "wrong value",
    "not_executed": "call not carried out",
    "order": "wrong order",
    "surplus_call": "surplus call",
    "no_answer": "no closing answer",
}


def table(head: Sequence[Any], rows: Sequence[Sequence[Any]], label: str, class_: str = "") -> Markup:
    """Return a table that scrolls sideways on a narrow screen; the first cell of a row is its header."""
    columns = el("tr", [el("th", h, scope="col") for h in head])
    body = [el("tr", el("th", row[0], scope="row"), [el("td", c) for c in row[1:]]) for row in rows]
    inner = el("table", el("thead", columns), el("tbody", body), class_=class_ or None)
    return el("div", inner, class_="scroll", tabindex=0, role="region", aria_label=label)


def before_after(evaluations: Evaluations) -> Markup:
    """Return every headline figure of every model, with its interval."""
    figures: list[str] = []
    for summary in evaluations.values():
        figures += [k for k, v in summary.items() if _is_estimate(v) and v["value"] is not None and k not in figures]
    rows = [[name_of(f), *(_cell(f, s.get(f)) for s in evaluations.values())] for f in figures]
    head = ["", *(_dotted(n) for n in evaluations)]
    return table(head, rows, "Figures of each model", "figures")


def differences(evaluations: Evaluations) -> Markup | None:
    """Return the paired differences between models; None with fewer than two of them."""
    rows: list[list[Any]] = []
    for before, after in PAIRS:
        if before in evaluations and after in evaluations:
            found = compare(evaluations[before], evaluations[after]).items()
            wanted = [(f, p) for f, p in found if f in ("success_rate", "reward_mean") or f.startswith("avg_at_")]
            heads = [f"{model_name(before)} → {model_name(after)}"] + [""] * len(wanted)
            rows += [[head, *_paired(f, p)] for head, (f, p) in zip(heads, wanted, strict=False)]
    head = ["Models", "Figure", "Difference", "95 % interval", "Better / worse / same", "McNemar p"]
    return table(head, rows, "Paired differences", "paired") if rows else None


def breakdown(evaluations: Evaluations, key: str, title: str) -> Markup | None:
    """Return success by group (`by_pattern`, `by_length`) as bars; None where no model has such groups."""
    groups = {g: row["n"] for s in evaluations.values() for g, row in (s.get(key) or {}).items()}
    if not groups or set(groups) == {"-"}:
        return None
    names = sorted(groups, key=lambda g: (int(g), "") if g.isdigit() else (0, g))
    rows = [[g, groups[g], *(_bars(n, (s.get(key) or {}).get(g)) for n, s in evaluations.items())] for g in names]
    return table([title, "Items", *(_dotted(n) for n in evaluations)], rows, f"Success by {title.lower()}", "breakdown")


def faults(evaluations: Evaluations) -> Markup | None:
    """Return the first kind of mistake of every greedy episode, counted."""
    counted = {name: s.get("faults", {}).get("greedy", {}) for name, s in evaluations.items()}
    kinds = [k for k in FAULTS if any(k in c for c in counted.values())]
    rows = [[FAULTS[k], *(_count_bar(n, c.get(k, 0), sum(c.values())) for n, c in counted.items())] for k in kinds]
    return table(["Outcome", *(_dotted(n) for n in evaluations)], rows, "Outcomes", "breakdown") if rows else None


def stops(evaluations: Evaluations) -> Markup | None:
    """Return why episodes ended, greedy and sampled together."""
    counted: dict[str, dict[str, int]] = {}
    for name, summary in evaluations.items():
        both = summary.get("stops", {})
        merged = {k for kind in both.values() for k in kind}
        counted[name] = {k: sum(kind.get(k, 0) for kind in both.values()) for k in merged}
    kinds = sorted({k for c in counted.values() for k in c}, key=lambda k: (k != "answer", k))
    rows = [
        [k.replace("_", " "), *(_count_bar(n, c.get(k, 0), sum(c.values())) for n, c in counted.items())] for k in kinds
    ]
    return table(["Ended by", *(_dotted(n) for n in evaluations)], rows, "Stop reasons", "breakdown") if rows else None


def seeds(rows: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Return the headline of each seed, as `compare.gather_seeds` gives it."""
    body: list[list[Any]] = []
    for row in rows:
        models, paired = row.get("models", {}), row.get("paired", {}).get("rl-sft", {})
        averages = sorted(k for m in models.values() for k in m if k.startswith("avg_at_"))
        for number_, figure in enumerate(dict.fromkeys(["success_rate", *averages])):
            cells = [_cell(figure, models.get(m, {}).get(figure)) for m in ("base", "sft", "rl")]
            gain = paired.get(figure, {}).get("difference")
            shown = [signed(figure, gain["value"]), _small(_ends(figure, gain))] if gain else DASH
            head = "" if number_ else f"Seed {row.get('seed', DASH)}"
            body.append([head, name_of(figure), *cells, shown])
    titles = ["", "Figure", *(_dotted(m) for m in ("base", "sft", "rl")), "RL − SFT, paired"]
    return table(titles, body, "Seeds", "figures") if body else None


def times(wall: Mapping[str, Any]) -> Markup | None:
    """Return the wall time of each stage as bars and numbers."""
    parts = [(k, float(v)) for k, v in wall.items() if isinstance(v, int | float) and k not in ("total", "all")]
    total = sum(v for _, v in parts)
    if not total:
        return None
    rows = [[k, duration(v), _bar("time", v / total, f"{100 * v / total:.0f} %")] for k, v in parts]
    return table(["Stage", "Time", "Share"], [*rows, ["All", duration(total), ""]], "Time a stage", "times")


def _paired(figure: str, found: Paired) -> list[Any]:
    interval = found.difference.to_json()
    sure = (interval["low"] > 0 or interval["high"] < 0) if interval["value"] is not None else False
    gain = el("b" if sure else "span", signed(figure, interval["value"]), class_="sure" if sure else None)
    score = f"{found.wins} / {found.losses} / {found.ties}"
    return [name_of(figure), gain, _ends(figure, interval), score, probability(found.p_value)]


def _ends(figure: str, interval: Mapping[str, Any]) -> str:
    return f"{signed(figure, interval['low'])} to {signed(figure, interval['high'])}"


def _cell(figure: str, interval: Mapping[str, Any] | None) -> Any:
    if not interval or interval.get("value") is None:
        return DASH
    return [estimate(figure, interval["value"]), _small(span(figure, interval))]


def _small(words: str) -> Markup:
    return el("small", words)


def _bars(model: str, row: Mapping[str, Any] | None) -> Any:
    if not row:
        return DASH
    greedy = row.get("success_rate", {}).get("value")
    sampled = next((v.get("value") for k, v in row.items() if k.startswith("avg_at_")), None)
    bars = [_bar(model, greedy, share(greedy)) if greedy is not None else None]
    return [*bars, _bar(f"{model} thin", sampled, share(sampled)) if sampled is not None else None]


def _count_bar(model: str, count: int, total: int) -> Any:
    return _bar(model, count / total if total else 0.0, number(count) if count else DASH)


def _bar(class_: str, part: float, words: str) -> Markup:
    fill = el("i", style=f"width:{100 * min(1.0, max(0.0, part)):.1f}%")
    return el("span", el("span", fill, class_="track"), el("span", words, class_="amount"), class_=f"bar {class_}")


def _dotted(model: str) -> Markup:
    return el("span", model_name(model), class_=f"dot {model if model in ('base', 'sft', 'rl') else 'other'}")


def _is_estimate(value: Any) -> bool:
    return isinstance(value, dict) and {"value", "low", "high"} <= value.keys()
