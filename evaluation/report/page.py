"""Put the report of a run together: one file, no script, no network, light and dark, for screen, phone and paper."""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from evaluation.compare import compare
from evaluation.metrics import Paired
from evaluation.report import tables
from evaluation.report.curves import PANELS, curve, panel_points
from evaluation.report.dialogues import dialogues
from evaluation.report.figures import duration, model_name, name_of, share, signed
from evaluation.report.forest import forest
from evaluation.report.load import RunData, load_run
from evaluation.report.markup import Markup, el

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Content security policy: even if a tag slipped through, nothing could run or load."""


def build_report(run_dir: Path, out: Path | None = None) -> Path:
    """Write the report of a run to `out` (RUN/report.html by default) and return where it lies."""
    out = out or run_dir / "report.html"
    page = render(load_run(run_dir))
    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.name}.{os.getpid()}")
    part.write_text(page, encoding="utf-8")
    part.replace(out)
    return out


def render(run: RunData) -> str:
    """Return the whole page."""
    sections = [s for s in (_results(run), _learning(run), _where(run), _reading(run), _seeds(run), _time(run)) if s]
    links = [el("a", title, href=f"#{key}") for key, title, _ in sections]
    bodies = [el("section", el("h2", title), body, id=key) for key, title, body in sections]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="color-scheme", content="light dark"),
        el("title", f"{run.name} – training report"),
        el("style", Markup(files("evaluation.report").joinpath("style.css").read_text(encoding="utf-8"))),
    )
    nav = el("nav", links, aria_label="Sections") if len(links) > 1 else None
    main = el("main", _title(run), nav, bodies or el("p", "This run has no results yet."), _about(run))
    return "<!doctype html>\n" + el("html", head, el("body", main), lang="en") + "\n"


Section = tuple[str, str, Any]


def _title(run: RunData) -> Markup:
    about = run.summary
    facts = [
        ("profile", about.get("profile")),
        ("model", about.get("model") or _dig(run.environment, "model")),
        ("seed", about.get("seed")),
        ("RL steps", about.get("steps") or len(run.steps) or None),
        ("held-out items", next((s["n"] for s in run.evaluations.values()), None)),
        ("time", duration(total) if (total := _total(about.get("wall_s"))) else None),
    ]
    line = [el("span", el("i", name), " ", value) for name, value in facts if value is not None]
    verdict = _verdict(run.evaluations)
    return el("header", el("h1", run.name), el("p", line, class_="facts"), verdict)


def _verdict(evaluations: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """Say in words what RL changed, and how sure that is."""
    if "rl" not in evaluations or not ({"sft", "base"} & evaluations.keys()):
        return None
    before = "sft" if "sft" in evaluations else "base"
    found = compare(evaluations[before], evaluations["rl"])
    wanted = [k for k in ("success_rate", *sorted(found)) if k in found and (k == "success_rate" or k[:7] == "avg_at_")]
    start = "From the warm start" if before == "sft" else "From the base model"
    return el("div", [_sentence(k, found[k], start) for k in dict.fromkeys(wanted)], class_="verdict")


def _sentence(figure: str, found: Paired, start: str) -> Markup:
    difference = found.difference
    value, low, high = difference.value or 0.0, difference.low or 0.0, difference.high or 0.0
    noise = f", within the noise of {difference.n} tasks" if low <= 0 <= high else ""
    name = name_of(figure)
    name = name[:1].lower() + name[1:]
    words = f"{start} to the end of RL, {name} went from {share(found.before)} to {share(found.after)}: "
    gain = el("b", f"{signed(figure, value)} points")
    return el("p", words, gain, f"{noise} (95 % interval {signed(figure, low)} to {signed(figure, high)}).")


def _results(run: RunData) -> Section | None:
    if not run.evaluations:
        return None
    averages = sorted({k for s in run.evaluations.values() for k in s if k.startswith("avg_at_")})
    charts = [forest(f, run.evaluations) for f in ("success_rate", *averages)]
    warnings = [w for s in run.evaluations.values() for w in _named(s)]
    items = next(iter(run.evaluations.values()))
    note = (
        f"{items['n']} held-out tasks. Small figures are 95 % intervals: Wilson's for success, a bootstrap over tasks "
        "for the rest. A task counts as a success when every step was called with the right arguments in the right "
        "order, nothing else was called, and the model closed with an answer."
    )
    paired_note = (
        "Differences on the same tasks, task by task. Bold: the interval leaves out zero. "
        "McNemar's exact p is for greedy success."
    )
    paired = tables.differences(run.evaluations)
    body = [
        el("div", charts, class_="forests"),
        tables.before_after(run.evaluations),
        el("p", note, class_="note"),
        [el("p", w, class_="warning") for w in warnings],
        (el("h3", "Paired differences"), paired, el("p", paired_note, class_="note")) if paired else None,
    ]
    return "results", "Before and after", body


def _named(summary: Mapping[str, Any]) -> list[str]:
    return [f"{model_name(str(summary.get('name', '')))}: {w}" for w in summary.get("warnings", ())]


def _learning(run: RunData) -> Section | None:
    drawn = [curve(p, points) for p in PANELS if (points := panel_points(p, run.steps))]
    if not drawn:
        return None
    note = "A dot is a training step, the line a running mean where there are many. Sampled rollouts on training tasks."
    return "learning", "Learning curves", [el("div", drawn, class_="curves"), el("p", note, class_="note")]


def _where(run: RunData) -> Section | None:
    e = run.evaluations
    length, pattern = tables.breakdown(e, "by_length", "Steps"), tables.breakdown(e, "by_pattern", "Pattern")
    blocks = [("By length", length), ("By pattern", pattern), ("First mistake, greedy", tables.faults(e))]
    blocks.append(("How episodes ended", tables.stops(e)))
    parts = [(el("h3", title), body) for title, body in blocks if body]
    note = "Thick bars: greedy success. Thin bars: mean success of the sampled episodes."
    return ("where", "Where it succeeds and fails", [parts, el("p", note, class_="note")]) if parts else None


def _reading(run: RunData) -> Section | None:
    body = dialogues(run) if run.evaluations else None
    note = (
        "Greedy episodes of the same task. Chosen by outcome alone, one of each kind of story first. "
        "Calls are marked against the wanted chain."
    )
    return ("reading", "Side by side", [el("p", note, class_="note"), body]) if body else None


def _seeds(run: RunData) -> Section | None:
    body = tables.seeds(run.seeds)
    return ("seeds", "Over seeds", body) if body else None


def _time(run: RunData) -> Section | None:
    wall = run.summary.get("wall_s")
    body = tables.times(wall) if isinstance(wall, dict) else None
    return ("time", "Time", body) if body else None


def _about(run: RunData) -> Markup:
    """Return what ran, as far as the run says."""
    rows = list(_flat(run.environment))
    cells = [(el("dt", name), el("dd", value)) for name, value in rows]
    inside = el("details", el("summary", "What ran: versions, hardware, sources"), el("dl", cells)) if rows else None
    words = "Configuration: config.yaml beside this file. Trajectories: eval/*.trajectories.jsonl."
    return el("footer", inside, el("p", words))


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Sequence[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            found += _flat(value, f"{name}.")
        elif isinstance(value, list):
            found.append((name, ", ".join(str(v) for v in value)))
        elif value is not None:
            found.append((name, str(value)))
    return found


def _dig(tree: Mapping[str, Any], key: str) -> str | None:
    value = tree.get(key)
    return value if isinstance(value, str) else None


def _total(wall: Any) -> float:
    if isinstance(wall, int | float):
        return float(wall)
    parts: Mapping[str, Any] = wall if isinstance(wall, dict) else {}
    return sum(v for k, v in parts.items() if isinstance(v, int | float) and k not in ("total", "all"))
