"""The page of several runs: every run in every part, told apart by name, colour and dash; parts that are missing."""
from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from environment.core.errors import DataError
from evaluation.metrics import wilson
from evaluation.report import build_comparison, build_report
from evaluation.report.figures import run_look
from evaluation.report.load import load_run, suite_of
from evaluation.report.page import titles
from evaluation.report.tests.test_report import HOSTILE, poison
from evaluation.report.tests.test_states import healthy_rows
from evaluation.tests.pages import Page
from evaluation.tests.support import make_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return three made-up runs."""
    folder = tmp_path_factory.mktemp("runs")
    return [make_run(folder / f"hotels-seed{seed}", items=9, steps=20, seed=seed) for seed in range(3)]


@pytest.fixture
def runs(made: list[Path], tmp_path: Path) -> list[Path]:
    """Return copies of them, free to be damaged."""
    return [Path(shutil.copytree(run, tmp_path / run.name)) for run in made]


def page_of(runs: list[Path]) -> Page:
    return Page(build_comparison(runs, runs[0].parent / "out" / "several.html"))


def test_every_run_is_in_every_part(runs: list[Path]) -> None:
    for seed, run in enumerate(runs):
        (run / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in healthy_rows(20, seed)))
    page = page_of(runs)
    parts = re.split(r'<section id="', page.source)[1:]
    names = [part.split('"', 1)[0] for part in parts]
    assert names == ["overview", "learning", "results", "between", "states", "where", "errors", "cost"]
    assert all(part.count(run.name) >= 1 for part in parts for run in runs)
    assert page.source.count('class="band collapsed"') == 3


def test_curves_are_told_apart_by_colour_and_dash_and_named(runs: list[Path]) -> None:
    page = page_of(runs)
    charts = re.findall(r"<figure class=\"curve\">.*?</figure>", page.source)
    assert charts and all(chart.count("<polyline") == 3 for chart in charts)
    assert all(f'class="run{n}"' in chart for chart in charts for n in range(3))
    assert all(f"<title>{run.name}</title>" in charts[0] for run in runs)
    assert ".run1 .line" in page.source and "stroke-dasharray" in page.source


def test_the_figures_are_those_of_the_files(runs: list[Path]) -> None:
    page = page_of(runs)
    for run in runs:
        for model in ("base", "sft", "rl"):
            summary = json.loads((run / "eval" / f"{model}.json").read_text())
            assert f"{100 * summary['success_rate']['value']:.1f} %" in page.words


def test_a_comparison_is_closed_off_like_a_report(runs: list[Path]) -> None:
    page = page_of(runs)
    assert not {"script", "link", "iframe", "img", "form"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?:", page.source)
    identities = page.values("id")
    assert len(set(identities)) == len(identities)
    assert {str(v).removeprefix("#") for v in page.values("href")} <= set(identities)


def test_hostile_runs_are_shown_not_obeyed(runs: list[Path]) -> None:
    for path in (runs[1] / "eval").iterdir():
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        path.write_text("\n".join(json.dumps(poison(json.loads(line))) for line in lines) + "\n")
    (runs[1] / "summary.json").write_text(json.dumps({"profile": HOSTILE, "model": HOSTILE, "wall_s": {HOSTILE: 3.0}}))
    strange = runs[1].rename(runs[1].with_name("<script>x<"))
    page = page_of([runs[0], strange])
    assert "script" not in page.tags and "<script>x<" in page.words and HOSTILE[:30] in page.words


def _without(*parts: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        for part in parts:
            path = run / part
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


@pytest.mark.parametrize("parts", [("eval",), ("metrics.jsonl",), ("summary.json",), ("eval/rl.json", "eval/sft.json")])
def test_a_run_may_lack_a_part(runs: list[Path], parts: tuple[str, ...]) -> None:
    _without(*parts)(runs[1])
    page = page_of(runs)
    assert all(run.name in page.words for run in runs)


def test_runs_without_any_results_are_still_named(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        (folder / "eval").mkdir(parents=True)
    page = Page(build_comparison(folders, tmp_path / "out.html"))
    assert "a" in page.words and "Overview" in page.words


def test_names_are_as_long_as_they_must_be(tmp_path: Path) -> None:
    assert titles([tmp_path / "x" / "run1", tmp_path / "x" / "run2"]) == ["run1", "run2"]
    assert titles([tmp_path / "x" / "run", tmp_path / "y" / "run"]) == ["x/run", "y/run"]
    with pytest.raises(DataError, match="the same run twice"):
        titles([tmp_path / "run", tmp_path / "run" / "."])


def test_more_runs_than_colours_begin_again() -> None:
    look = run_look([f"r{n}" for n in range(9)])
    assert (look.colour("r0"), look.colour("r7"), look.colour("r8")) == ("run0", "run7", "run0")


def other_suite(run: Path, name: str, **more: Any) -> None:
    """Write the summary of a suite that the report knows nothing of."""
    row = {"n": 40, "success_rate": wilson(30, 40).to_json()}
    odd = {
        "name": name, "n": 40, "success_rate": wilson(30, 40).to_json(), "odd_rate": wilson(9, 40).to_json(),
        "odd_mean": {"value": 3.5, "low": 3.1, "high": 4.0, "n": 40}, "by_category": {"multi_turn": row, "simple": row},
        "faults": {"greedy": {"none": 30, "state_differs": 10}}, "warnings": ["a < warning"],
        "items": [{"task_id": "1"}],
    }  # fmt: skip
    (run / "eval" / f"{name}.json").write_text(json.dumps({**odd, **more}))


@pytest.mark.parametrize("more", [{"suite": "bfcl"}, {"settings": {"suite": "bfcl"}}])
def test_suites_the_report_does_not_know_are_shown_by_shape(runs: list[Path], more: dict[str, Any]) -> None:
    other_suite(runs[0], "bfcl-rl", **more)
    for page in (Page(build_report(runs[0])), page_of(runs)):
        assert "bfcl" in page.words and "odd rate" in page.words and "3.50" in page.words
        assert "By category" in page.words and "multi turn" in page.words and "state differs" in page.words
        assert "a < warning" in page.words
    assert set(load_run(runs[0]).evaluations) == {"base", "sft", "rl"}


def test_a_folder_of_evaluations_alone_is_shown_as_well(runs: list[Path], tmp_path: Path) -> None:
    alone = Path(shutil.copytree(runs[0] / "eval", tmp_path / "evals"))
    other_suite(runs[0], "bfcl-rl", suite="bfcl")
    shutil.copy(runs[0] / "eval" / "bfcl-rl.json", alone)
    words = Page(build_report(alone, tmp_path / "page.html")).words
    assert "Kinds of mistakes" in words and "Side by side" in words and "odd rate" in words


def test_a_summary_that_names_no_suite_is_of_the_held_out_tasks() -> None:
    assert suite_of({}) == suite_of({"settings": {}}) == suite_of({"suite": 3}) == "heldout"


def test_the_page_is_whole_or_absent(runs: list[Path]) -> None:
    out = runs[0].parent / "page.html"
    out.mkdir()
    with pytest.raises(DataError, match="cannot be written"):
        build_comparison(runs, out)
    (runs[0].parent / "file").write_text("x")
    with pytest.raises(DataError, match=r"cannot be written[\s\S]*--out"):
        build_report(runs[0], runs[0].parent / "file" / "page.html")
    assert not [p for p in runs[0].parent.iterdir() if p.name.startswith(".")]


def test_the_same_runs_give_the_same_page(runs: list[Path], tmp_path: Path) -> None:
    first, second = (build_comparison(runs, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second
