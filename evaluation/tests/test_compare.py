"""Comparing models item by item and gathering the runs of several seeds."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from environment.core.errors import DataError
from evaluation.compare import PAIRS, compare, gather_seeds, headline, read_summaries
from evaluation.metrics import paired
from evaluation.tests.support import evaluation_of, make_run, make_task

TASKS = [make_task(i, 1 + i % 2) for i in range(12)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a made-up run."""
    return make_run(tmp_path_factory.mktemp("runs") / "one", items=12)


def test_summaries_come_base_first_then_sft_then_rl_then_others(run: Path, tmp_path: Path) -> None:
    for name in ("rl", "zeta", "base", "alpha", "sft"):
        (tmp_path / f"{name}.json").write_bytes((run / "eval" / "rl.json").read_bytes())
    (tmp_path / "rl.settings.json").write_text('{"items": []}')
    (tmp_path / "other.json").write_text('{"no": "items"}')
    assert list(read_summaries(tmp_path)) == ["base", "sft", "rl", "alpha", "zeta"]
    assert read_summaries(tmp_path / "nowhere") == {}


def test_a_damaged_summary_is_named(tmp_path: Path) -> None:
    (tmp_path / "sft.json").write_text("{")
    with pytest.raises(DataError, match=r"sft\.json"):
        read_summaries(tmp_path)


def test_the_difference_is_that_of_the_headlines_when_all_items_are_shared(run: Path) -> None:
    found = read_summaries(run / "eval")
    for before, after in PAIRS:
        for figure, difference in compare(found[before], found[after]).items():
            expected = found[after][figure]["value"] - found[before][figure]["value"]
            assert difference.difference.value == pytest.approx(expected)
            assert difference.before == pytest.approx(found[before][figure]["value"])


def test_a_model_does_not_differ_from_itself(run: Path) -> None:
    summary = read_summaries(run / "eval")["rl"]
    for difference in compare(summary, summary).values():
        assert (difference.wins, difference.losses, difference.difference.value) == (0, 0, 0)


def test_two_models_of_the_same_skill_are_seldom_called_different(tmp_path: Path) -> None:
    calls = 0
    for seed in range(6):
        one = evaluation_of("one", tmp_path, TASKS, 0.5, seed=seed)
        other = evaluation_of("other", tmp_path, TASKS, 0.5, seed=100 + seed)
        p = compare(one, other)["success_rate"].p_value
        assert p is not None
        calls += p < 0.05
    assert calls <= 1


def test_seeds_hold_what_each_run_says(run: Path) -> None:
    (row,) = gather_seeds([run])
    summaries = read_summaries(run / "eval")
    assert (row["seed"], row["run"]) == (1, "one")
    assert row["models"]["rl"] == headline(summaries["rl"])
    assert set(row["paired"]) == {"sft-base", "rl-sft", "rl-base"}
    items = (summaries["sft"]["items"], summaries["rl"]["items"])
    before, after = ({i["task_id"]: float(i["greedy"]["success"]) for i in model} for model in items)
    assert row["paired"]["rl-sft"]["success_rate"] == paired(before, after, binary=True).to_json()
    assert json.loads(json.dumps(row)) == row


def test_a_run_without_results_is_an_empty_row(tmp_path: Path) -> None:
    assert gather_seeds([tmp_path]) == [{"seed": None, "run": tmp_path.name, "models": {}, "paired": {}}]
