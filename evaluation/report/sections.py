"""The sections of one run's page, in order; a section without anything to show is left out."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.compare import compare
from evaluation.metrics import Paired
from evaluation.report import cost, tables
from evaluation.report.curves import PANELS, Series, curve, panel_points
from evaluation.report.dialogues import dialogues
from evaluation.report.errors import taxonomy, wrong_values
from evaluation.report.figures import duration, model_name, name_of, share, signed
from evaluation.report.forest import forest
from evaluation.report.load import RunData
from evaluation.report.markup import Markup, el
from evaluation.report.states import WARNING, states_chart, states_legend
from evaluation.report.suites import suite_blocks

Section = tuple[str, str, Any]
"""Name in the address, title, body."""


def all_sections(run: RunData) -> list[Section]:
    """Return the sections a run has something for."""
    made = (_results, _learning, _states, _where, _errors, _suites, _reading, _seeds, _cost)
    return [section for make in made if (section := make(run)) is not None]


def total_seconds(run: RunData) -> float:
    """Return the wall time of a run, 0 where none is known."""
    wall = run.summary.get("wall_s")
    return float(wall) if isinstance(wall, int | float) else sum(cost.stage_times(wall).values())


def title(run: RunData) -> Markup:
    """Return the name of the run, its facts, and in words what came of it."""
    about = run.summary
    facts = [
        ("profile", about.get("profile")),
        ("model", about.get("model") or _dig(run.environment, "model")),
        ("seed", about.get("seed")),
        ("RL steps", about.get("steps") or len(run.steps) or None),
        ("held-out items", next((s["n"] for s in run.evaluations.values()), None)),
        ("time", duration(total) if (total := total_seconds(run)) else None),
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
    drawn = [curve(p, [Series("", points)]) for p in PANELS if (points := panel_points(p, run.steps))]
    if not drawn:
        return None
    note = "A dot is a training step, the line a running mean where there are many. Sampled rollouts on training tasks."
    return "learning", "Learning curves", [el("div", drawn, class_="curves"), el("p", note, class_="note")]


def _states(run: RunData) -> Section | None:
    drawn = states_chart(run.steps, "Share of turns")
    if drawn is None:
        return None
    note = (
        "Every assistant turn of training is in one of four states. Turns with control tokens out of place are "
        "polluted; turns that are nothing but control tokens have collapsed. A model that is about to collapse "
        "first ends its turns right behind an opening tag: the early warning."
    )
    warned = any(WARNING in step for step in run.steps)
    body = [states_legend(warned), el("div", drawn, class_="curves wide"), el("p", note, class_="note")]
    return "states", "Structure of the turns", body


def _where(run: RunData) -> Section | None:
    e = run.evaluations
    blocks = [(f"By {tables.breakdown_name(k).lower()}", tables.breakdown(e, k, tables.breakdown_name(k)))
              for k in tables.breakdowns(e)]  # fmt: skip
    blocks.append(("How episodes ended", tables.stops(e)))
    parts = [(el("h3", heading), body) for heading, body in blocks if body]
    note = "Thick bars: greedy success. Thin bars: mean success of the sampled episodes."
    return ("where", "Where it succeeds and fails", [parts, el("p", note, class_="note")]) if parts else None


def _errors(run: RunData) -> Section | None:
    parts = [
        ("Kinds of mistakes", taxonomy(run.tallies), "Share of episodes, greedy and sampled, with at least one mistake "
         "of a kind; an episode may have several. Infrastructure failures are counted and are in no share."),
        ("Wrong values by argument", wrong_values(run.tallies), "Calls beside the wanted ones, in canonical form."),
        ("First mistake, greedy", tables.faults(run.evaluations), ""),
    ]  # fmt: skip
    shown = [(el("h3", heading), body, el("p", note, class_="note") if note else None)
             for heading, body, note in parts if body]  # fmt: skip
    return ("errors", "Mistakes", shown) if shown else None


def _suites(run: RunData) -> Section | None:
    body = suite_blocks(run.suites)
    return ("suites", "Other suites", body) if body else None


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


def _cost(run: RunData) -> Section | None:
    spent, used = cost.times(run.summary.get("wall_s")), cost.tokens(run)
    parts = [(el("h3", heading), body) for heading, body in (("Time", spent), ("Tokens", used)) if body]
    held = cost.held(run)
    note = el("p", f"The machine was held for {held}.", class_="note") if held else None
    return ("cost", "Cost and time", [parts, note]) if parts else None


def about(run: RunData) -> Markup:
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
