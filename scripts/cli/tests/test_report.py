"""`tool-rl report RUN …`: one page of the folders named, mistakes in words, the stage of a run left as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from environment.core.errors import ToolRlError
from evaluation.tests.support import make_run
from scripts.cli.app import app
from scripts.cli.report import split_runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return two made-up runs."""
    folder = tmp_path_factory.mktemp("runs")
    return [make_run(folder / f"run{seed}", items=6, steps=4, seed=seed) for seed in range(2)]


def report(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def refused(*arguments: object) -> str:
    done = report(*arguments)
    assert isinstance(done.exception, ToolRlError) and done.exception.exit_status != 0
    return str(done.exception)


def test_one_run_has_its_page_in_its_folder(runs: list[Path]) -> None:
    done = report(runs[0])
    assert done.exit_code == 0 and Path(done.output.strip()) == runs[0] / "report.html"
    assert "run0 – training report" in (runs[0] / "report.html").read_text()


def test_several_runs_have_one_page(runs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = report(*runs, "--out", tmp_path / "deep" / "page.html")
    assert done.exit_code == 0 and "2 runs side by side" in (tmp_path / "deep" / "page.html").read_text()
    monkeypatch.chdir(tmp_path)
    assert report(*runs).output.strip() == "comparison.html" and (tmp_path / "comparison.html").is_file()


def test_mistakes_are_said_in_words(runs: list[Path], tmp_path: Path) -> None:
    assert f"nearest   '{runs[0].parent / 'run1'}'" in refused(runs[0].parent / "runn1")
    assert "not a run" in refused(tmp_path)
    assert "this is a file" in refused(runs[0] / "summary.json")
    assert "the same run twice" in refused(runs[0], runs[0])
    assert "--out needs run folders" in refused("--out", tmp_path / "x.html")
    assert "together" in refused(runs[0], "tool_rl.seed=2")
    assert "together" in refused(runs[0], "--profile", "cpu_tiny")
    assert "cannot be written" in refused(runs[0], "--out", tmp_path)


def test_a_damaged_run_is_named_and_its_old_page_stays(runs: list[Path]) -> None:
    page = runs[1] / "report.html"
    report(runs[1])
    before, summary = page.read_bytes(), (runs[1] / "summary.json").read_text()
    (runs[1] / "summary.json").write_text("{")
    try:
        assert "summary.json" in refused(runs[1])
        assert page.read_bytes() == before
    finally:
        (runs[1] / "summary.json").write_text(summary)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_folder_that_cannot_be_written_is_said(runs: list[Path], tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in refused(runs[0], "--out", tmp_path / "x.html")


def test_settings_and_runs_are_told_apart(tmp_path: Path) -> None:
    odd = tmp_path / "lr=1e-5"
    odd.mkdir()
    assert split_runs(["a", "x=1", str(odd)]) == ([Path("a"), odd], ["x=1"])
