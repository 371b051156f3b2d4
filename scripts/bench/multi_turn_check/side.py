"""One side of the bench in a process of its own: `python side.py NAME IN.json OUT.json`.

    {"rollouts": [...], "passes": n}  ->  {"seconds": [...], "rss": [...], "verdicts": [[valid, error_type], ...]}

NAME is `ours` or `bfcl-eval`. The peer's side imports nothing of this project and the leaderboard's multi-turn checker
as it is: that one needs no vendor's client. The number of turns is compared first, as its runner does. Every pass of
the peer has a model name of its own, since it keeps instances by name; ours has no such need.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Judge = Callable[[int], list[tuple[bool, str]]]
"""Judges every rollout; the argument is the number of the pass."""


def ours(rollouts: list[dict[str, Any]]) -> Judge:
    """Return the judge of this project."""
    from BFCL.check.multi_turn.check import check
    from BFCL.data.rows import multi_turn_row

    cases = [(multi_turn_row(item["category"], item["id"]), item["turns"]) for item in rollouts]

    def judge(_: int) -> list[tuple[bool, str]]:
        return [(found.valid, found.error_type) for found in (check(row, turns) for row, turns in cases)]

    return judge


def peer(rollouts: list[dict[str, Any]]) -> Judge:
    """Return the judge of the leaderboard."""
    from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker import multi_turn_checker

    def one(at: int, item: dict[str, Any], number: int) -> tuple[bool, str]:
        if len(item["turns"]) != len(item["gold"]):
            return False, "multi_turn:force_terminated"
        name = f"pass{number}_{at}"
        found = multi_turn_checker(item["turns"], item["gold"], item["entry"], item["category"], name)
        return found["valid"], "" if found["valid"] else found["error_type"]

    def judge(number: int) -> list[tuple[bool, str]]:
        return [one(at, item, number) for at, item in enumerate(rollouts)]

    return judge


def main(name: str, given: str, out: str) -> None:
    """Judge so many passes and write times, memory and verdicts."""
    task = json.loads(Path(given).read_text(encoding="utf-8"))
    judge = (ours if name == "ours" else peer)(task["rollouts"])
    seconds: list[float] = []
    memory: list[int] = []
    verdicts: list[tuple[bool, str]] = []
    for number in range(task["passes"]):
        begun = time.process_time()
        verdicts = judge(number)
        seconds.append(time.process_time() - begun)
        memory.append(_rss())
    Path(out).write_text(json.dumps({"seconds": seconds, "rss": memory, "verdicts": verdicts}), encoding="utf-8")


def _rss() -> int:
    """Return the resident memory in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) * 1024


if __name__ == "__main__":
    main(*sys.argv[1:4])
