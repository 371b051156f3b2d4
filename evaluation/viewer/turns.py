"""The dialogue of one episode: what was said, each call beside the wanted one, each answer, and links between them."""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from environment.core.calls import ParseStatus, ResultStatus, ToolCall, ToolResult
from evaluation.report.markup import Markup, el
from evaluation.report.prose import compact, short, words_outside_calls
from evaluation.viewer.diff import ArgumentDiff
from evaluation.viewer.episode import Episode
from evaluation.viewer.origins import Origin

MOST = 20_000
"""Characters of one text that a page carries; the whole line is a link away."""
ROLES = {"system": "Instructions", "user": "User", "tool": "Tool"}


def turns(episode: Episode) -> Markup:
    """Return the whole dialogue."""
    return el("div", list(_turns(episode)), class_="turns")


def call_anchor(position: int) -> str:
    """Return the name of a call's place on the page."""
    return f"call-{position + 1}"


def value_anchor(origin: Origin) -> str:
    """Return the name of the place where a value stands that a later call took."""
    return f"value-{origin.number + 1}"


def _turns(episode: Episode) -> Iterator[Markup]:
    results, turn = episode.results, -1
    answered = {result.text for result in episode.trajectory.results}
    for message in episode.trajectory.messages:
        role, content = str(message.get("role")), _text(message.get("content"))
        if role == "assistant":
            turn += 1
            yield _assistant(episode, turn, content, results)
        elif role != "tool" or content not in answered:
            yield _other(role, content)


def _other(role: str, content: str) -> Markup:
    title, body = ROLES.get(role, role), el("p", short(content, MOST) or "(nothing)", class_="words")
    if role == "system":
        return el("details", el("summary", title), body, class_="turn system")
    return el("section", el("h3", title), body, class_=f"turn {role if role in ROLES else 'other'}")


def _assistant(episode: Episode, turn: int, content: str, results: Mapping[str, ToolResult]) -> Markup:
    calls = [(i, c) for i, c in enumerate(episode.trajectory.calls) if c.turn == turn]
    words = words_outside_calls(content) if calls else content.strip()
    span = next((s for s in episode.trajectory.spans if s.turn == turn), None)
    tokens = el("small", f"tokens {span.start}–{span.end}") if span else None
    said = el("p", short(words, MOST), class_="words") if words else None
    empty = el("p", "(nothing)", class_="words empty") if not words and not calls else None
    written = el("details", el("summary", "As written"), el("pre", short(content, MOST)), class_="written")
    body = [_call(episode, position, call, results.get(call.id)) for position, call in calls]
    head = el("h3", f"Assistant, turn {turn + 1}", tokens)
    raw = written if calls and content.strip() else None
    return el("section", head, said, empty, body, raw, class_="turn assistant", id=f"turn-{turn + 1}")


def _call(episode: Episode, position: int, call: ToolCall, result: ToolResult | None) -> Markup:
    step, mark = episode.step_of.get(position), _mark(episode, position)
    kind = "" if mark is None else "good" if mark.right else "bad"
    words = [f"step {step + 1}" if step is not None else None, mark.note if mark else None]
    note = el("span", " · ".join(w for w in words if w), class_="note")
    head = el(
        "h4",
        el("span", "✓" if kind == "good" else "✗", class_="sign", aria_label="right" if kind == "good" else "not right")
        if kind
        else None,
        el("span", f"{position + 1} ", class_="ordinal"), el("code", call.name or "unreadable", class_="tool"), note,
    )  # fmt: skip
    diff = episode.diffs.get(position)
    origins = {origin.argument: origin for origin in episode.origins.get(position, ())}
    if call.status != ParseStatus.OK:
        body: Any = [el("p", call.problem or call.status.replace("_", " "), class_="problem"),
                     el("pre", short(call.raw, MOST))]
    elif diff is not None:
        body = _diff_table(diff, origins)
    else:
        body = _given_table(call, origins)
    answer = _answer(episode, position, result) if result is not None else None
    return el("article", head, body, answer, class_=f"call {kind}".strip(), id=call_anchor(position))


def _mark(episode: Episode, position: int) -> Any:
    marks = episode.verdict.marks if episode.verdict is not None else ()
    return marks[position] if position < len(marks) else None


def _diff_table(diff: Sequence[ArgumentDiff], origins: Mapping[str, Origin]) -> Markup | None:
    """Return the arguments beside the wanted ones: the first column names, the last says how they stand."""
    rows = [
        el("tr", el("th", el("code", d.name), scope="row"), el("td", _value(d.wanted, d.has_wanted), class_="wanted"),
           el("td", _value(d.given, d.has_given), _origins_of(d.name, origins)),
           el("td", d.state.value, class_="state"), class_="right" if d.state.right else "wrong")
        for d in diff
    ]  # fmt: skip
    if not rows:
        return el("p", "no arguments, none wanted", class_="note")
    titles = ("Argument", "Wanted", "Given", "")
    head = el("tr", [el("th", title or el("span", "Verdict", class_="heard"), scope="col") for title in titles])
    return el("table", el("thead", head), el("tbody", rows), class_="diff")


def _given_table(call: ToolCall, origins: Mapping[str, Origin]) -> Markup:
    if not call.arguments:
        return el("p", "no arguments", class_="note")
    rows = [
        el("tr", el("th", el("code", name), scope="row"), el("td", _value(value, True), _origins_of(name, origins)))
        for name, value in call.arguments.items()
    ]
    return el("table", el("tbody", rows), class_="diff alone")


def _value(value: Any, there: bool) -> Markup:
    return el("code", compact(value, MOST)) if there else el("span", "–", aria_label="nothing", class_="absent")


def _origins_of(name: str, origins: Mapping[str, Origin]) -> list[Markup]:
    """Return the links from one argument, or the values inside it, to where they came from."""
    found = [o for path, o in origins.items() if path == name or path.startswith((f"{name}.", f"{name}["))]
    return [line for origin in found if (line := _origin(origin, name)) is not None]


def _origin(origin: Origin, name: str) -> Markup | None:
    inside = None if origin.argument == name else el("code", origin.argument, " ")
    if origin.producer is not None:
        words = f"from call {origin.producer + 1}, {origin.field}"
        return el("small", inside, el("a", words, href=f"#{value_anchor(origin)}"), class_="origin")
    if origin.expected:
        return el("small", inside, f"not from {origin.expected}", class_="origin missing")
    return el("small", inside, "in the request", class_="origin") if origin.requested else None


def _answer(episode: Episode, position: int, result: ToolResult) -> Markup:
    status = result.status.replace("_", " ")
    uses = episode.uses.get(position, ())
    used = el("ul", [_use(origin) for origin in uses], class_="uses", aria_label="Values taken by later calls")
    label = el("b", status, class_="ok" if result.status == ResultStatus.OK else "fault")
    text = el("code", short(result.text, MOST))
    same = compact(result.value, MOST).replace(" ", "") == short(result.text, MOST).replace(" ", "")
    whole = None if same else el(
        "details", el("summary", "Whole value; the model saw the cut above"), el("pre", compact(result.value, MOST)),
    )  # fmt: skip
    return el("div", label, text, used if uses else None, whole, class_="answer", tabindex=0, role="region",
              aria_label=f"Answer to call {position + 1}")  # fmt: skip


def _use(origin: Origin) -> Markup:
    return el("li", el("code", origin.field, " = ", compact(origin.value, 200)), " → ",
              el("a", f"call {origin.call + 1}, {origin.argument}", href=f"#{call_anchor(origin.call)}"),
              id=value_anchor(origin))  # fmt: skip


def _text(content: Any) -> str:
    """Return a message's content as text; some policies keep parts instead of a text."""
    return content if isinstance(content, str) else "" if content is None else compact(content, MOST)
