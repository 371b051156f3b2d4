"""Beside the dialogue: the wanted chain and what became of it, mistakes, reward, tokens, ledger, facts."""
from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from environment.core.trajectory import TokenSpan, Trajectory
from evaluation.mistakes import Kind, Mistake
from evaluation.report.figures import DASH, count, number, share
from evaluation.report.markup import Markup, el
from evaluation.report.prose import compact, short
from evaluation.viewer.episode import Episode
from evaluation.viewer.shell import meter
from evaluation.viewer.turns import call_anchor

MOST_LEDGER = 500
"""Rows of the ledger that a page carries."""
WORDS = {
    Kind.WRONG_TOOL: "wrong tool", Kind.WRONG_VALUE: "wrong value", Kind.MISSING_STEP: "missing step",
    Kind.EXTRA_CALL: "extra call", Kind.REFUSED_CALL: "refused call", Kind.NOT_EXECUTED: "not carried out",
    Kind.ORDER: "too early", Kind.MALFORMED: "unreadable", Kind.GAVE_UP: "gave up", Kind.CUT_OFF: "cut off by a limit",
    Kind.INFRASTRUCTURE: "failed by infrastructure",
}  # fmt: skip


def aside(episode: Episode) -> Markup:
    """Return all blocks that the episode has something for."""
    blocks = (_wanted(episode), _mistakes(episode), _reward(episode), _tokens(episode.trajectory),
              _ledger(episode.trajectory), _meta(episode.trajectory))  # fmt: skip
    return el("aside", [block for block in blocks if block], aria_label="Judgement")


def _block(title: str, *body: Any) -> Markup:
    return el("section", el("h3", title), *body, class_="block")


def _wanted(episode: Episode) -> Markup:
    if episode.task is None or episode.match is None:
        words = "The wanted calls of this task are not at hand. Open its run folder, or name the rows with --tasks."
        return _block("Wanted", el("p", words, class_="note"))
    items: list[Markup] = []
    for step, found in zip(episode.task.steps, episode.match.steps, strict=True):
        right = found.correct and found.ordered
        link = el("a", f"call {found.call + 1}", href=f"#{call_anchor(found.call)}") if found.call is not None else None
        needs = [el("small", f"{e.argument} from step {e.producer + 1}, {e.field}", class_="origin")
                 for e in step.edges]  # fmt: skip
        state = link or el("span", "no call", class_="absent")
        sign = el("span", "✓" if right else "✗", class_="sign", aria_label="done" if right else "not done")
        items.append(el("li", sign, el("code", step.function, class_="tool"), " ", state,
                        el("code", compact(step.arguments), class_="args"), needs,
                        class_="good" if right else "bad"))  # fmt: skip
    figures = {
        "chain done": share(episode.match.turn_accuracy), "calls right": share(episode.match.call_accuracy),
    }  # fmt: skip
    line = el("p", [el("span", el("i", k), " ", v) for k, v in figures.items()], class_="facts")
    return _block("Wanted", el("ol", items, class_="chain"), line)


def _mistakes(episode: Episode) -> Markup | None:
    if episode.task is None:
        return None
    if not episode.mistakes:
        return _block("Mistakes", el("p", "none", class_="note"))
    return _block("Mistakes", el("ul", [el("li", _mistake(m)) for m in episode.mistakes], class_="mistakes"))


def _mistake(mistake: Mistake) -> Iterator[Any]:
    yield el("b", WORDS[mistake.kind])
    if mistake.argument:
        yield [" ", el("code", mistake.argument), f" {'differs' if mistake.how == 'differs' else mistake.how}"]
    if mistake.call is not None:
        yield [", ", el("a", f"call {mistake.call + 1}", href=f"#{call_anchor(mistake.call)}")]
    if mistake.step is not None:
        yield f", step {mistake.step + 1}"
    if mistake.tool and not mistake.argument:
        yield [", ", el("code", mistake.tool)]


def _reward(episode: Episode) -> Markup | None:
    parts = episode.reward
    if not parts:
        return None
    names = sorted(parts, key=lambda name: (name != "score", not name.startswith("R_"), "/" in name))
    rows = [
        el("tr", el("th", name, scope="row"), el("td", meter(_number(parts[name])) if _is_share(name) else None),
           el("td", _shown(parts[name]), class_="figure"), class_="total" if name == "score" else None)
        for name in names
    ]  # fmt: skip
    return _block("Reward", el("table", el("tbody", rows), class_="reward"))


def _tokens(trajectory: Trajectory) -> Markup | None:
    total = trajectory.meta.get("tokens")
    if not trajectory.spans:
        words = "No token spans: this episode was played through text alone." if total else None
        return _block("Tokens", el("p", words, class_="note")) if words else None
    end = max(*(span.end for span in trajectory.spans), total if isinstance(total, int) else 0, 1)
    strip = [el("rect", width=end, height=10, class_="back")]
    strip += [
        el("rect", el("title", f"turn {s.turn + 1}: tokens {s.start} to {s.end}"), x=s.start,
           width=max(s.end - s.start, 0), height=10, class_="fill")
        for s in trajectory.spans
    ]  # fmt: skip
    trained = sum(s.end - s.start for s in trajectory.spans)
    label = f"{trained} of {end} response tokens are the model's own"
    svg = el("svg", strip, viewBox=f"0 0 {end} 10", preserveAspectRatio="none", role="img", aria_label=label,
             class_="meter strip")  # fmt: skip
    head = el("tr", [el("th", title, scope="col") for title in ("Tokens", "Whose", "Length", "Mask")])
    body = [
        el("tr", el("th", f"{start}–{stop}", scope="row"), el("td", whose), el("td", count(stop - start)),
           el("td", mask))
        for start, stop, whose, mask in _pieces(trajectory.spans, end)
    ]  # fmt: skip
    note = "Mask 1: written by the model and trained on. Mask 0: answers of tools and the template around them."
    table = el("table", el("thead", head), el("tbody", body), class_="tokens")
    return _block("Tokens", svg, table, el("p", note, class_="note"))


def _pieces(spans: tuple[TokenSpan, ...], end: int) -> Iterator[tuple[int, int, str, int]]:
    """Yield the whole response piece by piece: (start, end, whose, mask)."""
    here = 0
    for span in sorted(spans, key=lambda s: s.start):
        if span.start > here:
            yield here, span.start, "tools", 0
        yield span.start, span.end, f"turn {span.turn + 1}", 1
        here = max(here, span.end)
    if here < end:
        yield here, end, "tools", 0


def _ledger(trajectory: Trajectory) -> Markup | None:
    if not trajectory.ledger:
        return None
    position = {call.id: at for at, call in enumerate(trajectory.calls)}
    rows = [
        el("tr", el("td", el("a", at + 1, href=f"#{call_anchor(at)}") if at is not None else DASH),
           el("td", el("code", seen.field)), el("td", el("code", compact(seen.value, 300))))
        for seen in trajectory.ledger[:MOST_LEDGER]
        for at in (position.get(seen.call_id),)
    ]  # fmt: skip
    head = el("tr", [el("th", title, scope="col") for title in ("Call", "Field", "Value")])
    rest = len(trajectory.ledger) - len(rows)
    more = el("p", f"and {count(rest)} more", class_="note") if rest else None
    title = el("summary", f"Ledger: {count(len(trajectory.ledger))} values the model has seen")
    table = el("table", el("thead", head), el("tbody", rows), class_="ledger")
    return el("details", title, el("div", table, class_="scroll", tabindex=0, role="region", aria_label="Ledger"), more)


def _meta(trajectory: Trajectory) -> Markup:
    pairs = {"seed": trajectory.seed, **{k: v for k, v in trajectory.meta.items() if k != "reward"}}
    cells = [(el("dt", short(k, 60)), el("dd", v if isinstance(v, str) else compact(v, 300))) for k, v in pairs.items()]
    return el("details", el("summary", "Facts recorded with it"), el("dl", cells))


def _is_share(name: str) -> bool:
    """Say whether a part is shown with a bar: counts are not."""
    return not name.startswith("calls/")


def _number(value: Any) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and math.isfinite(value) else None


def _shown(value: Any) -> str:
    plain = _number(value)
    return number(plain) if plain is not None else short(str(value).replace("_", " "), 60)
