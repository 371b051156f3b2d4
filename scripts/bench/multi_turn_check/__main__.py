"""`python -m scripts.bench.multi_turn_check`: multi-turn checks a second, beside the leaderboard's own checker.

Both judge the same rollouts in processes of their own, in turns: every row's gold, category by category, for the rate;
ten changes of every row for the verdicts; many passes of the long-context rows for the memory. A rate is checks a
second of CPU time. Ours keeps what gold calls leave, so its first pass and the passes after it are told apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from BFCL.data.categories import MULTI_TURN
from scripts.bench.multi_turn_check.rollouts import Rollout, changed_rollouts, gold_rollouts
from scripts.bench.record import BenchRun, Measure, table, take, write

REPEATS, PASSES, MEMORY_PASSES = 3, 4, 50
SIDES = ("ours", "bfcl-eval")
ROOT = Path(__file__).parents[3]


def main() -> None:
    """Run the bench and leave its record."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.multi_turn_check", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    parser.add_argument("--limit", type=int, help="rows a category (default: all 200)")
    given = parser.parse_args()
    gold, changed = gold_rollouts(given.limit), changed_rollouts(limit=given.limit)
    measures = [*rates(gold), *agreement(gold + changed), *memory(gold)]
    settings: dict[str, object] = {
        "repeats": REPEATS, "passes": PASSES, "memory_passes": MEMORY_PASSES,
        "gold": len(gold), "changed": len(changed),
    }  # fmt: skip
    result = take("multi_turn_check", settings, measures, ["bfcl-eval", "mpmath", "orjson"])
    print(table(result))
    for line in ratios(result):
        print(line)
    print(write(result, given.out))


def rates(gold: Sequence[Rollout]) -> list[Measure]:
    """Return checks a second of each side on gold, by category, sides alternating."""
    samples: dict[tuple[str, str], list[float]] = {}
    for _ in range(REPEATS):
        for category in MULTI_TURN:
            rollouts = [rollout for rollout in gold if rollout.row.category == category]
            for side in SIDES:
                seconds = judged(side, rollouts, PASSES)["seconds"]
                samples.setdefault((side, f"checks_per_s_{category}"), []).append(len(rollouts) / min(seconds[1:]))
                first = (side, f"first_checks_per_s_{category}")
                samples.setdefault(first, []).append(len(rollouts) / seconds[0])
    return [Measure(side, metric, tuple(values)) for (side, metric), values in samples.items()]


def agreement(rollouts: Sequence[Rollout]) -> list[Measure]:
    """Return how many verdicts agree, error type included; those that don't are printed."""
    found = {side: judged(side, rollouts, 1)["verdicts"] for side in SIDES}
    differ = Counter[str]()
    for rollout, mine, theirs in zip(rollouts, found["ours"], found["bfcl-eval"], strict=True):
        if mine != theirs:
            differ[rollout.kind] += 1
            print(f"multi_turn_check: {rollout.row.id} {rollout.kind}: ours {mine}, bfcl-eval {theirs}")
    right = sum(valid for valid, _ in found["ours"])
    agreed = len(rollouts) - differ.total()
    print(f"multi_turn_check: {agreed} of {len(rollouts)} verdicts agree, error type included ({right} valid)")
    return [
        Measure("both", "verdicts_agreed", (float(agreed),)),
        Measure("both", "verdicts_compared", (float(len(rollouts)),)),
        Measure("both", "verdicts_valid", (float(right),)),
    ]


def memory(gold: Sequence[Rollout]) -> list[Measure]:
    """Return how much memory a pass over the long-context rows leaves behind, in bytes, once settled."""
    rollouts = [rollout for rollout in gold if rollout.row.long_context]
    return [
        Measure(side, "rss_bytes_per_pass", (slope(judged(side, rollouts, MEMORY_PASSES)["rss"]),)) for side in SIDES
    ]


def slope(rss: Sequence[float]) -> float:
    """Return the least-squares slope of the later four fifths."""
    settled = rss[len(rss) // 5 :]
    middle, mean = (len(settled) - 1) / 2, sum(settled) / len(settled)
    rise = sum((at - middle) * (value - mean) for at, value in enumerate(settled))
    return rise / sum((at - middle) ** 2 for at in range(len(settled)))


def judged(side: str, rollouts: Sequence[Rollout], passes: int) -> dict[str, Any]:
    """Return what one side says of rollouts, and how long it took."""
    with tempfile.TemporaryDirectory(prefix="multi-turn-bench-") as folder:
        given, out = Path(folder) / "given.json", Path(folder) / "out.json"
        given.write_text(json.dumps({"rollouts": [_plain(r) for r in rollouts], "passes": passes}), encoding="utf-8")
        side_file = Path(__file__).with_name("side.py")
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, str(side_file), side, str(given), str(out)], check=True, env=environment)
        return json.loads(out.read_text(encoding="utf-8"))


def _plain(rollout: Rollout) -> dict[str, Any]:
    row = rollout.row
    entry = {"id": row.id, "initial_config": row.config, "involved_classes": row.classes}
    return {"id": row.id, "category": row.category, "turns": rollout.turns, "gold": row.gold, "entry": entry}


def ratios(run: BenchRun) -> list[str]:
    """Return what the figures say beside each other."""
    return [
        f"ours / bfcl-eval, {category}: {run.compare(f'checks_per_s_{category}', *SIDES):.2f}"
        f" (first pass {run.compare(f'first_checks_per_s_{category}', *SIDES):.2f})"
        for category in MULTI_TURN
    ]


if __name__ == "__main__":
    main()
