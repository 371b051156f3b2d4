"""The reward bench measures what it says: episodes that differ, rows right and wrong, figures beside each other."""

from __future__ import annotations

from BFCL.check.ast.check import check
from scripts.bench.record import BenchRun, Measure
from scripts.bench.reward.__main__ import ratios
from scripts.bench.reward.cases import SCHEMAS, ast_rows, trajectories
from training.reward import graduated
from training.reward.complex_tool import compute_score


def test_the_episodes_are_five_calls_of_work_and_ways_to_spoil_it() -> None:
    for hits in (2, 80):
        cases = trajectories(hits)
        ours = [graduated.score(case.trajectory, case.task, SCHEMAS).score for case in cases]
        assert ours[0] == 1.0 and len(set(ours)) == len(ours) == 8
        assert len(cases[0].trajectory.calls) == 5
        theirs = [compute_score(c.text, c.ground_truth, extra_info=c.extra_info)["score"] for c in cases]
        assert theirs[0] > 0.9 > theirs[-1] > 0


def test_long_replies_are_long() -> None:
    short, long = (trajectories(hits)[0].text for hits in (2, 80))
    assert len(short) < 4_000 and len(long) > 20_000


def test_rows_are_repeatable_and_of_both_verdicts() -> None:
    rows = ast_rows(300)
    assert rows == ast_rows(300)
    right = sum(check(r["function"], r["possible_answer"], r["model_output"], r["category"]).valid for r in rows)
    assert 60 < right < 240
    assert {row["category"] for row in rows} == {"simple_python", "multiple", "parallel", "parallel_multiple"}


def test_ratios_are_told_of_what_was_measured() -> None:
    rates = [
        Measure(subject, f"trajectories_per_s_{name}", (rate,))
        for name in ("short", "long")
        for subject, rate in (("graduated", 20.0), ("legacy", 10.0))
    ]
    assert ratios(BenchRun("reward", {}, tuple(rates)))[0].endswith("short replies: 2.00")
    rows = [Measure("ours", "ast_rows_per_s", (9.0,)), Measure("bfcl-eval", "ast_rows_per_s", (3.0,))]
    assert ratios(BenchRun("reward", {}, (*rates, *rows)))[-1].endswith("AST rows: 3.00")
