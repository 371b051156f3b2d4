"""`python -m scripts.bench.reward [--bfcl-python PATH]`: how fast rewards and checkers are, a second of CPU time.

Trajectories: `graduated` beside `legacy`, which computes the reference stack's numbers, on the same five-call episodes
with short and with long replies. Rows: our AST checker beside the leaderboard's own, in one run on the same rows; how
many verdicts agree is told. Without --bfcl-python the peer is left out by name.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from BFCL.check.ast.check import check
from BFCL.check.match import GoldChain
from scripts.bench.record import BenchRun, Measure, table, take, write
from scripts.bench.reward.cases import SCHEMAS, Scored, ast_rows, trajectories
from training.reward import binary, graduated, toolrl
from training.reward.complex_tool import compute_score

REPEATS, ROUNDS, ROWS = 5, 40, 4000
REPLIES = {"short": 2, "long": 80}
"""Hits in a reply: about 200 and 6 000 characters."""


def main() -> None:
    """Run the bench and leave its record."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.reward", description=__doc__)
    parser.add_argument("--bfcl-python", type=Path, help="a Python that has bfcl-eval, in a venv of its own")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    given = parser.parse_args()
    measures = [m for name, hits in REPLIES.items() for m in reward_measures(name, trajectories(hits))]
    measures += checker_measures(given.bfcl_python)
    settings: dict[str, object] = {"calls": 5, "kinds": 8, "rounds": ROUNDS, "ast_rows": ROWS, "replies": REPLIES}
    result = take("reward", settings, measures)
    print(table(result))
    for line in ratios(result):
        print(line)
    print(write(result, given.out))


def reward_measures(name: str, cases: list[Scored]) -> list[Measure]:
    """Return trajectories a second of each reward, subjects alternating."""

    def unkept(case: Scored) -> object:
        return graduated.score_match(GoldChain(case.task, SCHEMAS).match(case.trajectory), case.trajectory)

    def legacy(case: Scored) -> object:
        return compute_score(case.text, case.ground_truth, extra_info=case.extra_info)

    subjects: dict[str, Callable[[Scored], object]] = {
        "graduated": lambda case: graduated.score(case.trajectory, case.task, SCHEMAS),
        "graduated, task new": unkept,
        "legacy": legacy,
        "binary": lambda case: binary.score(case.trajectory, case.task, SCHEMAS),
        "toolrl": lambda case: toolrl.score(case.trajectory, case.task, SCHEMAS),
    }
    samples: dict[str, list[float]] = {subject: [] for subject in subjects}
    for _ in range(REPEATS):
        for subject, function in subjects.items():
            samples[subject].append(_rate(function, cases, ROUNDS))
    return [Measure(subject, f"trajectories_per_s_{name}", tuple(rates)) for subject, rates in samples.items()]


def checker_measures(python: Path | None) -> list[Measure]:
    """Return rows a second of ours and of the leaderboard's checker."""
    rows = ast_rows(ROWS)

    def ours(row: dict[str, Any]) -> object:
        return check(row["function"], row["possible_answer"], row["model_output"], row["category"])

    if python is None:
        print("reward: bfcl-eval's checker is left out (no --bfcl-python)")
        return [Measure("ours", "ast_rows_per_s", tuple(_rate(ours, rows, 1) for _ in range(REPEATS)))]
    rates: dict[str, list[float]] = {"ours": [], "bfcl-eval": []}
    found: dict[str, Any] = {}
    for _ in range(REPEATS):
        rates["ours"].append(_rate(ours, rows, 3))
        found = peer_verdicts(python, rows)
        rates["bfcl-eval"].append(ROWS / min(found["seconds"]))
    verdicts = [check(r["function"], r["possible_answer"], r["model_output"], r["category"]) for r in rows]
    agreed = sum([v.valid, v.error_type] == theirs for v, theirs in zip(verdicts, found["verdicts"], strict=True))
    right = sum(v.valid for v in verdicts)
    print(f"reward: {agreed} of {ROWS} verdicts agree with bfcl-eval's, error type included ({right} valid)")
    return [
        *(Measure(subject, "ast_rows_per_s", tuple(samples)) for subject, samples in rates.items()),
        Measure("both", "ast_verdicts_agreed", (float(agreed),)),
    ]


def peer_verdicts(python: Path, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the leaderboard's verdicts on rows, error types included, and the CPU seconds of each of three repeats."""
    with tempfile.TemporaryDirectory(prefix="reward-bench-") as folder:
        given, out = Path(folder) / "rows.json", Path(folder) / "out.json"
        given.write_text(json.dumps(rows), encoding="utf-8")
        side = Path(__file__).with_name("bfcl_side.py")
        subprocess.run([str(python), str(side), str(given), "3", str(out)], check=True)
        return json.loads(out.read_text(encoding="utf-8"))


def ratios(run: BenchRun) -> list[str]:
    """Return what the figures say beside each other."""
    lines = [
        f"graduated / legacy, {name} replies: {run.compare(f'trajectories_per_s_{name}', 'graduated', 'legacy'):.2f}"
        for name in REPLIES
    ]
    if any(measure.subject == "bfcl-eval" for measure in run.measures):
        lines.append(f"ours / bfcl-eval, AST rows: {run.compare('ast_rows_per_s', 'ours', 'bfcl-eval'):.2f}")
    return lines


def _rate(function: Callable[[Any], object], items: list[Any], rounds: int) -> float:
    begun = time.process_time()
    for _ in range(rounds):
        for item in items:
            function(item)
    return rounds * len(items) / (time.process_time() - begun)


if __name__ == "__main__":
    main()
