"""The trajectories that are looked at: right and wrong episodes of a five-call task, as training keeps them."""
from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from scripts.bench.reward.cases import SCHEMAS, trajectories
from training.reward.registry import reward

GROUP, STEP = 8, 64
"""Rollouts of a task, and tasks of a step."""


def write_rollouts(path: Path, count: int, hits: int) -> Path:
    """Write so many trajectories, each with its reward; `hits` is the length of the lists in their replies."""
    with path.open("w", encoding="utf-8") as file:
        for number, row in enumerate(islice(cycle(_rows(hits)), count)):
            meta = {**row["meta"], "step": number // (GROUP * STEP) + 1, "sample": number % GROUP}
            task = f"train-hotel_stay-{number // GROUP % 5000}"
            file.write(json.dumps({**row, "task_id": task, "meta": meta}, ensure_ascii=False) + "\n")
    return path


def _rows(hits: int) -> Iterator[dict[str, Any]]:
    score = reward("graduated")
    for case in trajectories(hits):
        given = {**score(case.trajectory, case.task, SCHEMAS).as_log(), "stop": str(case.trajectory.stop)}
        row = case.trajectory.to_json()
        turns = range(len(case.trajectory.calls))
        spans = [{"turn": turn, "start": 80 * turn, "end": 80 * turn + 40} for turn in turns]
        yield {**row, "spans": spans, "meta": {**row["meta"], "tokens": 80 * len(spans), "reward": given}}
