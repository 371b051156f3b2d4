"""Tables of the report: before and after, paired differences, breakdowns, faults, seeds."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.compare import PAIRS, compare
from evaluation.metrics import Paired
from evaluation.report.figures import (
    DASH,
    MODEL_LOOK,
    Look,
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
BREAKDOWNS = ("by_length", "by_domain", "by_pattern")
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


def before_after(evaluations: Evaluations, look: Look = MODEL_LOOK) -> Markup:
    """Return every headline figure of every evaluation, with its interval."""
    figures: list[str] = []
    for summary in evaluations.values():
        figures += [k for k, v in summary.items() if _is_estimate(v) and v["value"] is not None and k not in figures]
    rows = [[name_of(f), *(cell(f, s.get(f)) for s in evaluations.values())] for f in figures]
    head = ["", *(dotted(n, look) for n in evaluations)]
    return table(head, rows, "Figures of each model", "figures")


def differences(evaluations: Evaluations) -> Markup | None:
    """Return the paired differences between models; None with fewer than two of them."""
    known = [(b, a) for b, a in PAIRS if b in evaluations and a in evaluations]
    rows = [
        row
        for before, after in known
        for row in difference_rows(
            f"{model_name(before)} → {model_name(after)}", evaluations[before], evaluations[after]
        )
    ]
    return difference_table("Models", rows)


def difference_rows(head: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[list[Any]]:
    """Return a row a figure for two summaries, compared on the items both have; the first has the head."""
    found = compare(before, after).items()
    wanted = [(f, p) for f, p in found if f in ("success_rate", "reward_mean") or f.startswith("avg_at_")]
    return [["" if place else head, *_paired(f, p)] for place, (f, p) in enumerate(wanted)]


def difference_table(title: str, rows: Sequence[Sequence[Any]]) -> Markup | None:
    """Return the table of `difference_rows`; None without any."""
    head = [title, "Figure", "Difference", "95 % interval", "Better / worse / same", "McNemar p"]
    return table(head, rows, "Paired differences", "paired") if rows else None


def breakdown(evaluations: Evaluations, key: str, title: str, look: Look = MODEL_LOOK) -> Markup | None:
    """Return success by group (`by_pattern`, `by_length`, …) as bars; None where no evaluation has such groups."""
    groups = {g: row.get("n", DASH) for s in evaluations.values() for g, row in (s.get(key) or {}).items()}
    if not groups or set(groups) == {"-"}:
        return None
    names = sorted(groups, key=lambda g: (int(g), "") if g.isdecimal() else (0, g))
    found = [(look.colour(n), s.get(key) or {}) for n, s in evaluations.items()]
    rows = [[g.replace("_", " "), groups[g], *(_bars(colour, of.get(g)) for colour, of in found)] for g in names]
    head = [title, "Items", *(dotted(n, look) for n in evaluations)]
    return table(head, rows, f"Success by {title.lower()}", "breakdown")


def breakdowns(evaluations: Evaluations) -> list[str]:
    """Return the keys (`by_…`) by which any evaluation breaks its figures down, length first."""
    keys = {k for s in evaluations.values() for k, v in s.items() if k.startswith("by_") and isinstance(v, dict)}
    return sorted(keys, key=lambda k: (BREAKDOWNS.index(k) if k in BREAKDOWNS else len(BREAKDOWNS), k))


def breakdown_name(key: str) -> str:
    """Return what a breakdown is by: `by_length` is Steps."""
    return {"by_length": "Steps"}.get(key, key.removeprefix("by_").replace("_", " ").capitalize())


def faults(evaluations: Evaluations, look: Look = MODEL_LOOK) -> Markup | None:
    """Return the first kind of mistake of every greedy episode, counted; kinds only a suite knows come last."""
    counted = {name: s.get("faults", {}).get("greedy", {}) for name, s in evaluations.items()}
    found = {k for c in counted.values() for k in c}
    kinds = [k for k in FAULTS if k in found] + sorted(found - FAULTS.keys())
    rows = [
        [FAULTS.get(k, k.replace("_", " ")),
         *(count_bar(look.colour(n), c.get(k, 0), sum(c.values())) for n, c in counted.items())]
        for k in kinds
    ]  # fmt: skip
    return table(["Outcome", *(dotted(n, look) for n in evaluations)], rows, "Outcomes", "breakdown") if rows else None


def stops(evaluations: Evaluations, look: Look = MODEL_LOOK) -> Markup | None:
    """Return why episodes ended, greedy and sampled together."""
    counted: dict[str, dict[str, int]] = {}
    for name, summary in evaluations.items():
        both = summary.get("stops", {})
        merged = {k for kind in both.values() for k in kind}
        counted[name] = {k: sum(kind.get(k, 0) for kind in both.values()) for k in merged}
    kinds = sorted({k for c in counted.values() for k in c}, key=lambda k: (k != "answer", k))
    rows = [
        [k.replace("_", " "), *(count_bar(look.colour(n), c.get(k, 0), sum(c.values())) for n, c in counted.items())]
        for k in kinds
    ]
    head = ["Ended by", *(dotted(n, look) for n in evaluations)]
    return table(head, rows, "Stop reasons", "breakdown") if rows else None


def seeds(rows: Sequence[Mapping[str, Any]], names: Sequence[Any] = ()) -> Markup | None:
    """Return the headline of each run, as `compare.gather_seeds` gives it; called by its seed unless named."""
    body: list[list[Any]] = []
    for place, row in enumerate(rows):
        models, paired = row.get("models", {}), row.get("paired", {}).get("rl-sft", {})
        averages = sorted(k for m in models.values() for k in m if k.startswith("avg_at_"))
        for number_, figure in enumerate(dict.fromkeys(["success_rate", *averages])):
            cells = [cell(figure, models.get(m, {}).get(figure)) for m in ("base", "sft", "rl")]
            gain = paired.get(figure, {}).get("difference")
            shown = [signed(figure, gain["value"]), _small(_ends(figure, gain))] if gain else DASH
            title = names[place] if names else f"Seed {row.get('seed', DASH)}"
            head = "" if number_ else title
            body.append([head, name_of(figure), *cells, shown])
    titles = ["", "Figure", *(dotted(m) for m in ("base", "sft", "rl")), "RL − SFT, paired"]
    return table(titles, body, "Runs" if names else "Seeds", "figures") if body else None


def dotted(name: str, look: Look = MODEL_LOOK) -> Markup:
    """Return the title of a model or run with its colour."""
    return el("span", look.title(name), class_=f"dot {look.colour(name)}")


def count_bar(colour: str, count: int, total: int) -> Any:
    """Return a count as a bar of its share."""
    return bar(colour, count / total if total else 0.0, number(count) if count else DASH)


def bar(class_: str, part: float, words: str) -> Markup:
    """Return a bar for a share and, behind it, its words."""
    fill = el("i", style=f"width:{100 * min(1.0, max(0.0, part)):.1f}%")
    return el("span", el("span", fill, class_="track"), el("span", words, class_="amount"), class_=f"bar {class_}")


def cell(figure: str, interval: Mapping[str, Any] | None) -> Any:
    """Return an estimate and, smaller, its interval."""
    if not interval or interval.get("value") is None:
        return DASH
    return [estimate(figure, interval["value"]), _small(span(figure, interval))]


def _paired(figure: str, found: Paired) -> list[Any]:
    interval = found.difference.to_json()
    sure = (interval["low"] > 0 or interval["high"] < 0) if interval["value"] is not None else False
    gain = el("b" if sure else "span", signed(figure, interval["value"]), class_="sure" if sure else None)
    score = f"{found.wins} / {found.losses} / {found.ties}"
    return [name_of(figure), gain, _ends(figure, interval), score, probability(found.p_value)]


def _ends(figure: str, interval: Mapping[str, Any]) -> str:
    return f"{signed(figure, interval['low'])} to {signed(figure, interval['high'])}"


def _small(words: str) -> Markup:
    return el("small", words)


def _bars(colour: str, row: Mapping[str, Any] | None) -> Any:
    if not row:
        return DASH
    greedy = row.get("success_rate", {}).get("value")
    sampled = next((v.get("value") for k, v in row.items() if k.startswith("avg_at_")), None)
    bars = [bar(colour, greedy, share(greedy)) if greedy is not None else None]
    return [*bars, bar(f"{colour} thin", sampled, share(sampled)) if sampled is not None else None]


def _is_estimate(value: Any) -> bool:
    return isinstance(value, dict) and {"value", "low", "high"} <= value.keys()
