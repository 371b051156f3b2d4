"""One episode: what was asked, what was done, beside what was wanted and how it was judged."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.report.figures import count, number
from evaluation.report.markup import Markup, el
from evaluation.report.prose import clip
from evaluation.viewer.aside import aside
from evaluation.viewer.episode import Episode
from evaluation.viewer.facts import NONE
from evaluation.viewer.index import Place, outcome_of
from evaluation.viewer.query import Query
from evaluation.viewer.shell import OUTCOME_WORDS, facts, page, sign
from evaluation.viewer.turns import turns


@dataclass(frozen=True)
class Step:
    """Where an episode stands among those of a query."""

    position: int
    """From 0."""
    total: int
    before: str | None
    """Key of the one before it."""
    after: str | None


def step_of(place: Place, found: Sequence[Place]) -> Step | None:
    """Return where a row stands in a result; None where it is not in it."""
    same = (i for i, other in enumerate(found) if other.row.line == place.row.line and other.file is place.file)
    at = next(same, None)
    if at is None:
        return None
    before = found[at - 1].key if at else None
    return Step(at, len(found), before, found[at + 1].key if at + 1 < len(found) else None)


def episode_page(place: Place, episode: Episode, query: Query, step: Step | None, notes: Sequence[str]) -> bytes:
    """Return the page of one episode."""
    body = el(
        "main",
        _steps(query, step),
        el("header", el("h1", clip(episode.trajectory.task_id, 160) or "(no id)"), _facts(place, episode)),
        [el("p", note, class_="warning") for note in notes],
        el("p", episode.trajectory.error, class_="warning") if episode.trajectory.error else None,
        el("div", turns(episode), aside(episode), class_="episode"),
        class_="wide",
    )
    return page(f"{clip(episode.trajectory.task_id, 80)} – episode", body)


def _facts(place: Place, episode: Episode) -> list[Markup]:
    row, trajectory, verdict = place.row, episode.trajectory, episode.verdict
    outcome = outcome_of(row)
    if outcome == "unknown" and verdict is not None:
        outcome = "success" if verdict.success else "failure"
    reward = row.reward
    task = Query(task=trajectory.task_id).address()
    line: dict[str, Any] = {
        "outcome": el("span", sign(outcome), " ", OUTCOME_WORDS[outcome], class_=f"outcome {outcome}"),
        "reward": None if reward is None else number(reward),
        "ended by": trajectory.stop.replace("_", " "),
        "from": " · ".join([place.file.title, f"line {row.line}"]),
        "step": None if row.step == NONE else row.step,
        "sample": row.sample,
    }
    links = {
        "": [el("a", "every episode of this task", href=f"/?{task}"), " · ",
             el("a", "the line as stored", href=f"/raw/{place.key}")],
    }  # fmt: skip
    return [facts(line), facts(links)]


def _steps(query: Query, step: Step | None) -> Markup:
    """Return the way back and on; with the filters, these are the neighbours in the same result."""
    asked = query.address()
    back = el("a", "← All" if not asked else "← Back to the list", href=f"/?{asked}" if asked else "/", accesskey="l")
    if step is None:
        return el("nav", back, aria_label="Episodes", class_="pager")

    def link(key: str | None, words: str, rel: str, letter: str) -> Markup:
        if key is None:
            return el("span", words, class_="off")
        return el("a", words, href=f"/t/{key}" + (f"?{asked}" if asked else ""), rel=rel, accesskey=letter)

    here = el("span", f"{count(step.position + 1)} of {count(step.total)}")
    before, after = link(step.before, "Previous", "prev", "p"), link(step.after, "Next", "next", "n")
    return el("nav", back, here, before, after, aria_label="Episodes", class_="pager")
