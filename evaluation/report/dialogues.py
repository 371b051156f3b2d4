"""The same task by each model, side by side: what was said, called and answered, each call against the gold chain."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from environment.core.calls import ResultStatus, ToolCall, ToolResult
from environment.core.trajectory import Trajectory
from evaluation.report.figures import model_name, number
from evaluation.report.load import RunData
from evaluation.report.markup import Markup, el
from evaluation.report.prose import compact, short, words_outside_calls

MOST_TASKS = 6


def choose(evaluations: Mapping[str, Mapping[str, Any]], most: int = MOST_TASKS) -> list[str]:
    """Return the tasks most worth reading: each kind of story once (gained, lost, never, always), then more of them.

    A story is the tuple of successes over the models, in order. The choice does not look at what the text says.
    """
    verdicts: dict[str, list[bool]] = {}
    for summary in evaluations.values():
        for item in summary["items"]:
            if item.get("greedy"):
                verdicts.setdefault(item["task_id"], []).append(bool(item["greedy"]["success"]))
    stories: dict[tuple[bool, ...], list[str]] = {}
    for task, outcome in verdicts.items():
        if len(outcome) == len(evaluations):
            stories.setdefault(tuple(outcome), []).append(task)
    order = sorted(stories, key=lambda s: (len(set(s)) == 1, s[-1] is False, s))
    turns = max((len(tasks) for tasks in stories.values()), default=0)
    return [stories[s][i] for i in range(turns) for s in order if i < len(stories[s])][:most]


def dialogues(run: RunData) -> Markup | None:
    """Return the section's body, None where there is nothing to show."""
    tasks = choose(run.evaluations)
    by_model = {model: run.greedy(model, set(tasks)) for model in run.evaluations}
    items = {m: {i["task_id"]: i for i in s["items"]} for m, s in run.evaluations.items()}
    shown = [
        _task(t, {m: items[m][t] for m in items}, {m: by_model[m][t] for m in by_model}, opened=number_ == 0)
        for number_, t in enumerate(tasks)
        if all(t in found for found in by_model.values())
    ]
    return el("div", shown, class_="dialogues") if shown else None


def _task(
    task: str, items: Mapping[str, Mapping[str, Any]], trajectories: Mapping[str, Trajectory], opened: bool
) -> Markup:
    item = next(iter(items.values()))
    marks = [_outcome(m, bool(i["greedy"]["success"])) for m, i in items.items()]
    head = el("summary", el("span", item.get("query") or task, class_="query"), el("span", marks, class_="outcomes"))
    gold = [
        el("li", el("code", s["function"]), " ", el("code", compact(s["arguments"]), class_="args"))
        for s in item.get("gold", ())
    ]
    wanted = el("div", el("h4", "Wanted"), el("ol", gold), class_="gold") if gold else None
    columns = [_column(m, trajectories[m], items[m]["greedy"]) for m in items]
    meta = el("p", f"{item.get('pattern') or 'task'} · {item['length']} steps · {task}", class_="meta")
    return el("details", head, meta, wanted, el("div", columns, class_="columns"), open=opened)


def _outcome(model: str, success: bool) -> Markup:
    words = f"{model_name(model)}: {'right' if success else 'not right'}"
    return el("span", el("span", "✓" if success else "✗", aria_hidden="true"), " ", model_name(model),
              class_=f"outcome {'good' if success else 'bad'}", title=words)


def _column(model: str, trajectory: Trajectory, verdict: Mapping[str, Any]) -> Markup:
    reward = verdict.get("reward")
    facts = [
        "success" if verdict["success"] else str(verdict.get("fault", "")).replace("_", " "),
        None if reward is None else f"reward {number(reward)}",
        f"ended by {str(trajectory.stop).replace('_', ' ')}",
    ]
    head = el("header", el("h4", model_name(model), class_=f"dot {model}"), el("p", " · ".join(f for f in facts if f)))
    return el("section", head, list(_turns(trajectory, verdict.get("marks") or ())), class_="column")


def _turns(trajectory: Trajectory, marks: Sequence[Mapping[str, Any]]) -> Iterator[Markup]:
    """Yield words, calls and answers in order; calls are taken from the record, not read again out of the text."""
    results = {r.call_id: r for r in trajectory.results}
    mark_of = {c.id: m for c, m in zip(trajectory.calls, marks, strict=False)}
    assistant = [m for m in trajectory.messages if m.get("role") == "assistant"]
    for turn, message in enumerate(assistant):
        words = words_outside_calls(str(message.get("content") or ""))
        calls = [c for c in trajectory.calls if c.turn == turn]
        if words or not calls:
            yield el("p", short(words) or "(nothing)", class_="words" if words else "words empty")
        for call in calls:
            yield _call(call, mark_of.get(call.id), results.get(call.id))


def _call(call: ToolCall, mark: Mapping[str, Any] | None, result: ToolResult | None) -> Markup:
    right = bool(mark and mark["right"])
    step = f"step {mark['step'] + 1}" if mark and mark.get("step") is not None else ""
    note = " · ".join(w for w in (step, str(mark["note"]) if mark else "") if w)
    sign = el("span", "✓" if right else "✗", class_="sign", aria_label="right" if right else "not right")
    body = el("code", compact(call.arguments), class_="args") if call.name else el("code", short(call.raw))
    head = el("div", sign, el("code", call.name or "unreadable", class_="tool"), el("span", note, class_="note"),
              class_="callhead")
    status = None if result is None or result.status == ResultStatus.OK else str(result.status).replace("_", " ")
    shown = "" if result is None else short(result.text)
    answer = el("div", el("b", status) if status else None, el("code", shown), class_="answer") if result else None
    return el("div", head, body, answer, class_=f"call {'good' if right else 'bad'}")
