"""The list: what there is, filters, and one page of trajectories."""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from evaluation.report.figures import DASH, count, number, share
from evaluation.report.markup import Markup, el
from evaluation.report.prose import clip, short
from evaluation.viewer.facts import NONE
from evaluation.viewer.index import Facets, Index, Place, outcome_of
from evaluation.viewer.query import OUTCOMES, PAGE, UNREADABLE, Query, value_of
from evaluation.viewer.shell import OUTCOME_WORDS, facts, meter, page, sign

ORDER_WORDS = {
    "": "as recorded", "low": "lowest reward first", "high": "highest reward first", "calls": "most calls first",
    "turns": "most turns first", "long": "longest first",
}  # fmt: skip
MOST_BAD_SHOWN = 20
MOST_TOOLS = 5


def list_page(index: Index, found: Sequence[Place], query: Query, problems: Sequence[str]) -> bytes:
    """Return the page of a query's results."""
    pages = max(1, -(-len(found) // PAGE))
    query = replace(query, page=min(query.page, pages))
    shown = found[(query.page - 1) * PAGE : query.page * PAGE]
    facets, name = index.facets(), index.source.path.resolve().name
    body = el(
        "main",
        _head(index, facets, name),
        el("div", _filters(index, facets, query),
           el("section", _summary(found, query, len(index)), [el("p", p, class_="warning") for p in problems],
              _rows(shown, query) if shown else _nothing(index), _pager(query, pages), aria_label="Trajectories"),
           class_="browse"),
        _bad(index),
        class_="wide",
    )  # fmt: skip
    return page(f"{name} – trajectories", body)


def _head(index: Index, facets: Facets, name: str) -> Markup:
    total = len(index)
    judged = facets.outcomes["success"] + facets.outcomes["failure"]
    line = {
        "trajectories": f"{count(total)}{' so far, still reading' if index.reading else ''}",
        "files": len(index.files),
        "right": f"{share(facets.outcomes['success'] / judged)} of {count(judged)} judged" if judged else None,
        "infrastructure": count(lost) if (lost := facets.outcomes["infrastructure"]) else None,
    }
    return el("header", el("h1", name), facts(line))


def _filters(index: Index, facets: Facets, query: Query) -> Markup:
    """Return the form; what it holds is in the address, so a view can be kept and shared."""
    outcomes = [(o, OUTCOME_WORDS[o], facets.outcomes[o]) for o in OUTCOMES if facets.outcomes[o] or query.outcome == o]
    tools = [(t or UNREADABLE, t or UNREADABLE, n) for t, n in sorted(facets.tools.items())]
    stops = [(s, s.replace("_", " "), n) for s, n in facets.stops.most_common()]
    sources = [(str(f.number), f.title, facets.files[f.number]) for f in index.files]
    chosen = "" if query.file is None else str(query.file)
    parts = sorted(facets.parts, key=lambda p: (p != "score", "/" in p, p))
    bounds = el(
        "fieldset", el("legend", "Reward", class_="heard"),
        _choice("part", "Reward", query.part, [(p, p, None) for p in parts], "score") if parts else None,
        el("div", _input("low", "From", query.low), _input("high", "To", query.high), class_="pair"),
    )  # fmt: skip
    form = el(
        "form",
        el("label", el("span", "Search"), el("input", type="search", name="q", value=query.q, accesskey="s",
           placeholder="any text of an episode", autocomplete="off", spellcheck="false")),
        _choice("outcome", "Outcome", query.outcome, outcomes),
        _choice("stop", "Ended by", query.stop, stops),
        _choice("tool", "Tool called", query.tool, tools),
        _choice("file", "File", chosen, sources) if len(sources) > 1 else None,
        bounds,
        _choice("order", "Order", query.order, [(o, w, None) for o, w in ORDER_WORDS.items() if o], ORDER_WORDS[""]),
        el("input", type="hidden", name="task", value=query.task) if query.task else None,
        el("div", el("button", "Show", type="submit"), el("a", "Clear", href="/"), class_="buttons"),
        action="/", method="get", role="search",
    )  # fmt: skip
    active = query.address(page=1, order="") != ""
    return el("details", el("summary", "Filters", " (in use)" if active else None), form, class_="filters")


def _choice(
    name: str, title: str, chosen: str, options: Iterable[tuple[str, str, int | None]], empty: str = "any"
) -> Markup:
    known = list(options)
    if chosen and chosen not in {value for value, _, _ in known}:
        known.insert(0, (chosen, chosen, 0))
    shown = [
        el("option", clip(words, 60), f" ({count(n)})" if n is not None else "", value=value, selected=value == chosen)
        for value, words, n in known
    ]
    return el("label", el("span", title), el("select", el("option", empty, value=""), shown, name=name))


def _input(name: str, title: str, value: float | None) -> Markup:
    held = "" if value is None else f"{value:g}"
    return el("label", el("span", title), el("input", name=name, value=held, inputmode="decimal", autocomplete="off",
                                             size=5))


def _summary(found: Sequence[Place], query: Query, total: int) -> Markup:
    outcomes = Counter(outcome_of(place.row) for place in found)
    judged = outcomes["success"] + outcomes["failure"]
    rewards = [value for place in found if (value := value_of(query, place)) is not None]
    words = f"{count(len(found))} of {count(total)}" if len(found) != total else f"{count(total)}"
    every = el("a", "every task", href="/?" + query.address(task="", page=1))
    line = {
        "shown": words,
        "right": share(outcomes["success"] / judged) if judged else None,
        f"mean {query.part or 'reward'}": number(sum(rewards) / len(rewards)) if rewards else None,
        "task": [clip(query.task, 80), " ", every] if query.task else None,
    }
    return el("div", facts(line), class_="found", role="status")


def _rows(shown: Sequence[Place], query: Query) -> Markup:
    head = el("tr", [el("th", words, scope="col", class_=kind) for words, kind in (
        ("", "mark"), ("Request", ""), ("Calls", ""), ("Ended by", ""), (query.part or "Reward", "figure"),
        ("File", ""),
    )])  # fmt: skip
    body = [_row(place, query) for place in shown]
    return el("table", el("thead", head), el("tbody", body), class_="list")


def _row(place: Place, query: Query) -> Markup:
    row, value = place.row, value_of(query, place)
    address = f"/t/{place.key}" + (f"?{query.address()}" if query.address() else "")
    tools = [el("code", name or "unreadable") for name in row.tools[:MOST_TOOLS]]
    more = f" +{len(row.tools) - MOST_TOOLS}" if len(row.tools) > MOST_TOOLS else None
    where = [place.file.title, f"sample {row.sample}" if row.sample or row.step != NONE else "greedy"]
    return el(
        "tr",
        el("td", sign(outcome_of(row)), class_="mark"),
        el("th", el("a", _request(place), href=address), el("small", clip(row.task, 80)), scope="row"),
        el("td", el("span", f"{row.calls} ", class_="figure") if row.calls else "none", tools, more, class_="calls"),
        el("td", row.stop.replace("_", " ")),
        el("td", meter(value), number(value) if value is not None else DASH, class_="figure"),
        el("td", " · ".join(where), class_="where"),
    )


def _request(place: Place) -> str:
    """Return the beginning of what the user asked for, read from the file now."""
    try:
        messages: Any = place.data()["messages"]
        said = next((str(m.get("content") or "") for m in messages if m.get("role") == "user"), "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return "(the file has changed; load the page again)"
    return clip(said, 180) or "(no request)"


def _nothing(index: Index) -> Markup:
    if len(index):
        return el("p", "Nothing fits. ", el("a", "Clear the filters", href="/"), ".", class_="empty")
    words = "Reading …" if index.reading else "No trajectories yet. Load the page again when the run has written some."
    return el("p", words, class_="empty")


def _pager(query: Query, pages: int) -> Markup | None:
    if pages == 1:
        return None
    back = el("a", "← Earlier", href="/?" + query.address(page=query.page - 1), rel="prev", accesskey="p")
    on = el("a", "Later →", href="/?" + query.address(page=query.page + 1), rel="next", accesskey="n")
    here = el("span", f"page {count(query.page)} of {count(pages)}")
    return el("nav", back if query.page > 1 else el("span", "← Earlier", class_="off"), here,
              on if query.page < pages else el("span", "Later →", class_="off"), aria_label="Pages", class_="pager")


def _bad(index: Index) -> Markup | None:
    """Name what could not be read, file by file."""
    notes: list[Markup] = []
    for file in index.files:
        if file.problem:
            notes.append(el("li", f"{file.title}: {file.problem}"))
        if file.bad_count:
            named = [el("li", f"line {bad.line}: {short(bad.why, 200)}") for bad in file.bad[:MOST_BAD_SHOWN]]
            rest = file.bad_count - len(named)
            more = el("li", f"and {count(rest)} more") if rest else None
            notes.append(el("li", f"{file.title}: {count(file.bad_count)} left out", el("ul", named, more)))
        if file.growing:
            notes.append(el("li", f"{file.title}: its last line is still being written, or was cut off"))
    if not notes:
        return None
    return el("details", el("summary", "Lines left out"), el("ul", notes), class_="bad-lines", open=True)


