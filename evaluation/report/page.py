"""Put a report together: one file, no script, no network, light and dark, for screen, phone and paper.

`build_report` is the page of one run, `build_comparison` that of several.
"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from environment.core.errors import DataError
from evaluation.report import comparison, sections
from evaluation.report.load import RunData, load_run
from evaluation.report.markup import Markup, el
from evaluation.report.sections import Section

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""Content security policy: even if a tag slipped through, nothing could run or load."""


def build_report(run_dir: Path, out: Path | None = None) -> Path:
    """Write the report of a run to `out` (RUN/report.html by default) and return where it lies."""
    out = out or run_dir / "report.html"
    _write(out, render(load_run(run_dir)))
    return out


def build_comparison(run_dirs: Sequence[Path], out: Path) -> Path:
    """Write one page that lays several runs side by side, and return where it lies."""
    runs = {name: load_run(folder) for name, folder in zip(titles(run_dirs), run_dirs, strict=True)}
    _write(out, render_comparison(runs))
    return out


def titles(run_dirs: Sequence[Path]) -> list[str]:
    """Return a name for each folder, as long as it must be to tell it from the others."""
    paths = [folder.resolve() for folder in run_dirs]
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    raise DataError("the same run twice", got=", ".join(map(str, run_dirs)), fix="name each run once")


def render(run: RunData) -> str:
    """Return the whole page of a run."""
    header = sections.title(run)
    return _page(f"{run.name} – training report", header, sections.all_sections(run), sections.about(run))


def render_comparison(runs: Mapping[str, RunData]) -> str:
    """Return the whole page of several runs."""
    header, foot = comparison.title(runs), comparison.about(runs)
    return _page(f"{len(runs)} runs – comparison", header, comparison.all_sections(runs), foot)


def _page(title: str, header: Markup, shown: Sequence[Section], foot: Markup) -> str:
    links = [el("a", name, href=f"#{key}") for key, name, _ in shown]
    bodies = [el("section", el("h2", name), body, id=key) for key, name, body in shown]
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=POLICY),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Markup(files("evaluation.report").joinpath("style.css").read_text(encoding="utf-8"))),
    )
    nav = el("nav", links, aria_label="Sections") if len(links) > 1 else None
    main = el("main", header, nav, bodies or el("p", "This run has no results yet."), foot)
    return "<!doctype html>\n" + el("html", head, el("body", main), lang="en") + "\n"


def _write(out: Path, page: str) -> None:
    part = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        if out.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        out.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(page, encoding="utf-8")
        part.replace(out)
    except OSError as error:
        fix = "give another file with --out"
        raise DataError(f"the page cannot be written: {error.strerror}", where=str(out), fix=fix) from error
    finally:
        if part.is_file():
            part.unlink()

