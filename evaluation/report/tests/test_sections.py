"""Sections of the page, each from its own data: tables, intervals, dialogues, what is read from a run."""
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.compare import gather_seeds, read_summaries
from evaluation.metrics import wilson
from evaluation.report import cost, tables
from evaluation.report.dialogues import dialogues
from evaluation.report.forest import forest
from evaluation.report.load import load_run
from evaluation.tests.support import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a made-up run."""
    return make_run(tmp_path_factory.mktemp("runs") / "one", items=16, steps=5)


@pytest.fixture
def evaluations(run: Path) -> dict[str, dict[str, Any]]:
    """Return the summaries of the made-up run."""
    return read_summaries(run / "eval")


def words(markup: str) -> str:
    """Return the text of a piece of HTML."""
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", " ", markup))


@settings(max_examples=30)
@given(st.integers(0, 64))
def test_an_interval_is_drawn_inside_the_frame_and_around_its_mark(successes: int) -> None:
    drawn = forest("success_rate", {"rl": {"success_rate": wilson(successes, 64).to_json()}})
    assert drawn is not None
    whisker = re.search(r'<line x1="([\d.]+)" x2="([\d.]+)"[^>]*class="whisker"', drawn)
    mark = re.search(r'<circle cx="([\d.]+)"', drawn)
    assert whisker is not None and mark is not None
    low, high, middle = float(whisker[1]), float(whisker[2]), float(mark[1])
    assert 84 <= low <= middle <= high <= 396


def test_a_figure_no_model_has_is_not_drawn() -> None:
    assert forest("avg_at_4", {"rl": {"success_rate": wilson(1, 2).to_json()}}) is None
    assert forest("success_rate", {"rl": {"success_rate": wilson(0, 0).to_json()}}) is None


def test_every_table_is_reachable_by_keyboard_and_has_a_name(evaluations: dict[str, Any]) -> None:
    made = [
        tables.before_after(evaluations),
        tables.differences(evaluations),
        tables.faults(evaluations),
        tables.stops(evaluations),
        tables.breakdown(evaluations, "by_length", "Steps"),
    ]
    for table in made:
        assert table is not None
        assert re.search(r'tabindex="0" role="region" aria-label="[^"]+"', table)
        rows = re.findall(r"<tr>(.*?)</tr>", table)
        widths = {len(re.findall(r"<t[hd][ >]", row)) for row in rows}
        assert len(widths) == 1


def test_counts_of_faults_and_stops_add_up(evaluations: dict[str, Any]) -> None:
    faults = tables.faults({"rl": evaluations["rl"]})
    stops = tables.stops({"rl": evaluations["rl"]})
    assert faults is not None and stops is not None
    for table, total in ((faults, 16), (stops, 16 * 5)):
        assert sum(int(n) for n in re.findall(r'class="amount">(\d+)<', table)) == total


def test_groups_are_ordered_by_number_and_left_out_when_there_are_none(evaluations: dict[str, Any]) -> None:
    row = {"n": 1, "success_rate": wilson(1, 1).to_json()}
    table = tables.breakdown({"rl": {"by_length": {k: row for k in ("10", "2", "1")}}}, "by_length", "Steps")
    assert table is not None
    assert re.findall(r'<th scope="row">(\d+)<', table) == ["1", "2", "10"]
    assert tables.breakdown({"rl": {"by_pattern": {"-": row}}}, "by_pattern", "Pattern") is None
    assert tables.breakdown({"rl": {}}, "by_pattern", "Pattern") is None


def test_only_differences_that_leave_out_zero_are_bold(evaluations: dict[str, Any]) -> None:
    table = tables.differences(evaluations)
    assert table is not None
    for row in re.findall(r"<tr>(.*?)</tr>", table)[1:]:
        ends = re.search(r"<td>([+−]?[\d.]+) to ([+−]?[\d.]+)</td>", row)
        assert ends is not None
        low, high = (float(e.replace("−", "-")) for e in ends.groups())
        if low * high != 0:
            assert ('class="sure"' in row) == (low > 0 or high < 0)


def test_one_seed_takes_a_row_for_each_figure(run: Path) -> None:
    table = tables.seeds(gather_seeds([run, run]))
    assert table is not None
    assert words(table).count("Seed 1") == 2
    assert words(table).count("avg@4") == words(table).count("Greedy success") == 2
    assert tables.seeds([]) is None


def test_times_are_shares_of_their_sum() -> None:
    table = cost.times({"sft": 30.0, "rl": 90.0, "total": 121.0, "note": "x"})
    assert table is not None
    assert "25 %" in table and "75 %" in table and "2 min 00 s" in table
    assert cost.times({}) is None


def test_dialogues_show_each_model_and_mark_each_call(run: Path) -> None:
    shown = dialogues(load_run(run))
    assert shown is not None
    tasks = shown.count("<details")
    assert 1 <= tasks <= 6
    assert shown.count("<details open>") == 1
    assert shown.count('class="column"') == 3 * tasks
    assert shown.count('class="call good"') + shown.count('class="call bad"') == shown.count('class="sign"')
    assert "step 1" in words(shown)


def test_steps_are_read_flat_or_nested_torn_or_repeated(tmp_path: Path) -> None:
    rows = [
        {"step": 2, "data": {"reward": 0.5, "note": "x"}},
        {"step": 1, "reward": 0.25, "flag": True},
        {"step": 2, "kl": 0.1},
        {"step": 2, "reward": 0.75},
        {"no": "step"},
    ]
    (tmp_path / "metrics.jsonl").write_text("\n".join(map(json.dumps, rows)) + '\n[]\n{"step": 3, "rew')
    assert load_run(tmp_path).steps == [{"step": 1, "reward": 0.25}, {"step": 2, "reward": 0.75, "kl": 0.1}]
