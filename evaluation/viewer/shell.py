"""The frame of every page of the viewer: head, top line, foot. No script anywhere; text is text (`report.markup`)."""
from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from evaluation.report.markup import Markup, el

SIGNS = {"success": "✓", "failure": "✗", "infrastructure": "!", "unknown": "·"}
OUTCOME_WORDS = {
    "success": "right", "failure": "not right", "infrastructure": "failed by infrastructure", "unknown": "not judged",
}  # fmt: skip


def page(title: str, *body: Any) -> bytes:
    """Return a whole page."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("link", rel="stylesheet", href="/style.css"),
        el("link", rel="icon", href="data:,"),
    )
    return ("<!doctype html>\n" + el("html", head, el("body", *body), lang="en") + "\n").encode("utf-8", "replace")


def stylesheet() -> bytes:
    """Return the style of the report and, behind it, what the viewer adds."""
    report = files("evaluation.report").joinpath("style.css").read_bytes()
    return report + b"\n" + files("evaluation.viewer").joinpath("viewer.css").read_bytes()


def message(title: str, words: str) -> bytes:
    """Return a page that says one thing and leads back to the list."""
    body = el("main", el("h1", title), el("p", words), el("p", el("a", "All trajectories", href="/")), class_="said")
    return page(title, body)


def sign(outcome: str) -> Markup:
    """Return the mark of an outcome, its words read out."""
    mark = el("span", SIGNS[outcome], aria_hidden="true")
    return el("span", mark, el("span", OUTCOME_WORDS[outcome], class_="heard"), class_=f"sign {outcome}")


def meter(value: float | None, class_: str = "") -> Markup | None:
    """Return a bar for a number between 0 and 1; None for any other. Drawn, since inline styles are forbidden here."""
    if value is None or not 0 <= value <= 1:
        return None
    fill = el("rect", width=f"{100 * value:.1f}", height=10, class_="fill")
    back = el("rect", width=100, height=10, class_="back")
    return el("svg", back, fill, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true",
              class_=f"meter {class_}".strip())


def facts(pairs: Mapping[str, Any]) -> Markup:
    """Return short facts in one line; those that are None are left out."""
    shown = [el("span", el("i", name), " ", value) for name, value in pairs.items() if value is not None]
    return el("p", shown, class_="facts")
