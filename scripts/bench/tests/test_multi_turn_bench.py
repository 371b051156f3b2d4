"""The multi-turn bench measures what it says: rollouts right and wrong, both sides on the same ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from BFCL.check.ast.check import check
from BFCL.check.multi_turn.check import check as check_rollout
from BFCL.data.categories import AST
from BFCL.data.gold import gold_calls
from BFCL.data.rows import single_turn_rows
from BFCL.data.tests.needs import needs_package
from scripts.bench.multi_turn_check.__main__ import judged, ratios, slope
from scripts.bench.multi_turn_check.rollouts import CHANGES, changed_rollouts, gold_rollouts
from scripts.bench.record import BenchRun, Measure
from scripts.bench.reward.__main__ import peer_verdicts


@needs_package
def test_rollouts_are_repeatable_of_every_kind_and_of_both_verdicts() -> None:
    gold, changed = gold_rollouts(limit=10), changed_rollouts(limit=10)
    assert [rollout.turns for rollout in changed] == [rollout.turns for rollout in changed_rollouts(limit=10)]
    assert {rollout.kind for rollout in changed} == set(CHANGES) and len(CHANGES) == 10
    assert all(check_rollout(rollout.row, rollout.turns).valid for rollout in gold)
    right = sum(check_rollout(rollout.row, rollout.turns).valid for rollout in changed)
    assert 0.2 < right / len(changed) < 0.8


@needs_package
def test_gold_is_left_as_it_was() -> None:
    before = [rollout.turns for rollout in gold_rollouts(limit=5)]
    changed_rollouts(limit=5)
    assert before == [rollout.turns for rollout in gold_rollouts(limit=5)]


@needs_package
@pytest.mark.slow
def test_the_sides_agree_on_gold_and_on_changes() -> None:
    rollouts = gold_rollouts(limit=20) + changed_rollouts(limit=20)
    ours, theirs = (judged(side, rollouts, 1)["verdicts"] for side in ("ours", "bfcl-eval"))
    assert ours == theirs


@needs_package
@pytest.mark.slow
@pytest.mark.parametrize("category", AST)
def test_single_turn_gold_has_the_leaderboard_s_verdicts(category: str) -> None:
    rows = [
        {"function": r.functions, "possible_answer": r.answers, "model_output": gold_calls(r), "category": category}
        for r in single_turn_rows(category)
    ]
    theirs = peer_verdicts(Path(sys.executable), rows)["verdicts"]
    found = [check(r["function"], r["possible_answer"], r["model_output"], category) for r in rows]
    assert [[each.valid, each.error_type] for each in found] == theirs


def test_a_slope_is_what_is_left_behind_a_pass() -> None:
    assert slope([5.0] * 10) == 0 and slope([9.0, 9.0, *range(8)]) == pytest.approx(1)


def test_ratios_are_told_of_every_category() -> None:
    names = ("multi_turn_base", "multi_turn_miss_func", "multi_turn_miss_param", "multi_turn_long_context")
    measures = [
        Measure(side, f"{kind}checks_per_s_{name}", (rate,))
        for name in names for kind in ("", "first_") for side, rate in (("ours", 30.0), ("bfcl-eval", 10.0))
    ]  # fmt: skip
    told = ratios(BenchRun("multi_turn_check", {}, tuple(measures)))
    assert len(told) == 4 and all("3.00 (first pass 3.00)" in each for each in told)
