"""The sections of a page that lays several runs side by side; where one model stands for a run, it is its last."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.compare import gather_seeds
from evaluation.report import cost, tables
from evaluation.report.curves import PANELS, Series, curve, legend, panel_points
from evaluation.report.errors import taxonomy, wrong_values
from evaluation.report.figures import DASH, Look, duration, model_name, name_of, run_look
from evaluation.report.forest import forest
from evaluation.report.load import RunData
from evaluation.report.markup import Markup, el
from evaluation.report.sections import Section, total_seconds
from evaluation.report.states import WARNING, states_chart, states_legend
from evaluation.report.suites import suite_blocks

Runs = Mapping[str, RunData]
"""Name → run, in the order given."""


def all_sections(runs: Runs) -> list[Section]:
    """Return the sections that any of the runs has something for."""
    look = run_look(list(runs))
    made = (_overview, _learning, _results, _between, _states, _where, _errors, _suites, _cost)
    return [section for make in made if (section := make(runs, look)) is not None]


def title(runs: Runs) -> Markup:
    """Return what is compared."""
    names = el("p", [el("span", tables.dotted(name, run_look(list(runs)))) for name in runs], class_="facts")
    return el("header", el("h1", f"{len(runs)} runs side by side"), names)


def about(runs: Runs) -> Markup:
    """Return where the runs lie."""
    rows = [(el("dt", name), el("dd", str(run.folder.resolve()))) for name, run in runs.items()]
    return el("footer", el("details", el("summary", "Where the runs lie"), el("dl", rows)))


def last_model(run: RunData) -> str | None:
    """Return the model that stands for a run: after RL, else after SFT, else the base, else whichever there is."""
    order = ("rl", "sft", "base", *run.evaluations)
    return next((name for name in order if name in run.evaluations), None)


def _last(runs: Runs) -> dict[str, Mapping[str, Any]]:
    """Return each run's summary of its last model; runs without any are left out."""
    return {name: run.evaluations[model] for name, run in runs.items() if (model := last_model(run)) is not None}


def _overview(runs: Runs, look: Look) -> Section:
    averages = _averages(runs)
    figures = ("success_rate", *averages)
    head = ["Run", "Profile", "Model", "Seed", "RL steps", "Items", "Last model", *map(name_of, figures), "Time"]
    rows: list[list[Any]] = []
    for name, run in runs.items():
        model = last_model(run)
        summary: Mapping[str, Any] = run.evaluations[model] if model is not None else {}
        found = run.summary
        rows.append([
            tables.dotted(name, look),
            *(found.get(key) or DASH for key in ("profile", "model")),
            found.get("seed", DASH), found.get("steps") or len(run.steps) or DASH, summary.get("n", DASH),
            model_name(model) if model is not None else DASH,
            *(tables.cell(figure, summary.get(figure)) for figure in figures),
            duration(seconds) if (seconds := total_seconds(run)) else DASH,
        ])  # fmt: skip
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] != DASH for row in rows)]
    body = tables.table([head[i] for i in kept], [[row[i] for i in kept] for row in rows], "Runs", "overview")
    return "overview", "Overview", body


def _learning(runs: Runs, look: Look) -> Section | None:
    drawn: list[Markup] = []
    for panel in PANELS:
        found = {name: points for name, run in runs.items() if (points := panel_points(panel, run.steps))}
        if found:
            drawn.append(curve(panel, [Series(name, points, look.colour(name)) for name, points in found.items()]))
    if not drawn:
        return None
    names = legend({name: look.colour(name) for name, run in runs.items() if run.steps})
    note = "Running means where a run has many steps."
    return "learning", "Learning curves", [names, el("div", drawn, class_="curves"), el("p", note, class_="note")]


def _results(runs: Runs, look: Look) -> Section | None:
    last = _last(runs)
    if not last:
        return None
    charts = [forest(figure, last, look) for figure in ("success_rate", *_averages(runs))]
    rows = gather_seeds([run.folder for run in runs.values()])
    note = "Charts: the last model of each run. Table: every model, and RL's gain over the warm start. 95 % intervals."
    table = tables.seeds(rows, [tables.dotted(name, look) for name in runs])
    return "results", "Before and after", [el("div", charts, class_="forests"), table, el("p", note, class_="note")]


def _between(runs: Runs, look: Look) -> Section | None:
    """Compare the last models of the first run and of each other, where both saw the same tasks."""
    last = _last(runs)
    first, *others = list(last) or [""]
    rows = [
        row
        for other in others
        for row in tables.difference_rows(
            [tables.dotted(first, look), " → ", tables.dotted(other, look)], last[first], last[other]
        )
    ]
    note = "The last models on the tasks that both runs evaluated, task by task. Bold: the interval leaves out zero."
    body = tables.difference_table("Runs", rows)
    return ("between", "Between runs", [body, el("p", note, class_="note")]) if body else None


def _states(runs: Runs, look: Look) -> Section | None:
    del look
    drawn = [chart for name, run in runs.items() if (chart := states_chart(run.steps, name)) is not None]
    if not drawn:
        return None
    warned = any(WARNING in step for run in runs.values() for step in run.steps)
    return "states", "Structure of the turns", [states_legend(warned), el("div", drawn, class_="curves")]


def _where(runs: Runs, look: Look) -> Section | None:
    last = _last(runs)
    blocks = [(f"By {tables.breakdown_name(k).lower()}", tables.breakdown(last, k, tables.breakdown_name(k), look))
              for k in tables.breakdowns(last)]  # fmt: skip
    blocks.append(("How episodes ended", tables.stops(last, look)))
    parts = [(el("h3", heading), body) for heading, body in blocks if body]
    note = "The last model of each run. Thick bars: greedy success. Thin bars: mean success of the sampled episodes."
    return ("where", "Where they succeed and fail", [parts, el("p", note, class_="note")]) if parts else None


def _errors(runs: Runs, look: Look) -> Section | None:
    tallies = {
        name: run.tallies[model] for name, run in runs.items() if (model := last_model(run)) and model in run.tallies
    }
    parts = [("Kinds of mistakes", taxonomy(tallies, look)), ("Wrong values by argument", wrong_values(tallies, look))]
    shown = [(el("h3", heading), body) for heading, body in parts if body]
    return ("errors", "Mistakes", shown) if shown else None


def _suites(runs: Runs, look: Look) -> Section | None:
    del look
    merged: dict[str, dict[str, Mapping[str, Any]]] = {}
    for name, run in runs.items():
        for suite, found in run.suites.items():
            merged.setdefault(suite, {}).update({f"{name}, {model_name(m)}": s for m, s in found.items()})
    body = suite_blocks(merged)
    return ("suites", "Other suites", body) if body else None


def _cost(runs: Runs, look: Look) -> Section | None:
    del look
    body = cost.comparison(runs)
    return ("cost", "Cost and time", body) if body else None


def _averages(runs: Runs) -> Sequence[str]:
    return sorted({k for summary in _last(runs).values() for k in summary if k.startswith("avg_at_")})
