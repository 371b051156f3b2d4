"""The trajectories that are looked at: right and wrong episodes of a two-call task, as training keeps them."""
from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from BFCL.check.replay import GoldWorld, play_turns
from environment.booking.schemas import load_schemas
from environment.core.task import Edge, GoldStep, Task
from environment.session.prompt import call_text
from training.reward.registry import reward

GROUP, STEP = 8, 64
"""Rollouts of a task, and tasks of a step."""
STAY = {"dest_id": "2733", "search_type": "city", "arrival_date": "2026-05-03", "departure_date": "2026-05-06"}
TASK = Task(
    "bench", "I need a hotel in Oslo from 3 to 6 May 2026.", ("Search_Hotels", "Search_Hotel_Destination"),
    (
        GoldStep("Search_Hotel_Destination", {"query": "Oslo"}),
        GoldStep("Search_Hotels", STAY, (0,), (Edge("dest_id", 0, "data[0].dest_id"),)),
    ),
    answer="The first hotel is Fjord House.",
)  # fmt: skip


def write_rollouts(path: Path, count: int, hits: int) -> Path:
    """Write so many trajectories, each with its reward; `hits` is the length of the lists in their replies."""
    with path.open("w", encoding="utf-8") as file:
        for number, row in enumerate(islice(cycle(_rows(hits)), count)):
            meta = {**row["meta"], "step": number // (GROUP * STEP) + 1, "sample": number % GROUP}
            task = f"train-hotel_stay-{number // GROUP % 5000}"
            file.write(json.dumps({**row, "task_id": task, "meta": meta}, ensure_ascii=False) + "\n")
    return path


def _rows(hits: int) -> Iterator[dict[str, Any]]:
    """Yield one row a kind of episode: right, without an answer that tells, stopped early, wrong, twice, unreadable."""
    schemas, score = load_schemas(), reward("graduated")
    world = GoldWorld(TASK, _responses(hits), schemas)
    find, stay = (call_text(step.function, step.arguments) for step in TASK.steps)
    late = call_text("Search_Hotels", {**STAY, "departure_date": "2026-05-09"})
    scripts = [
        [find, stay, TASK.answer], [find, stay, "Done."], [find, TASK.answer], [find, late, TASK.answer],
        [find, find, stay, TASK.answer], [find, "<tool_call>{</tool_call>", stay, TASK.answer],
    ]  # fmt: skip
    for turns in scripts:
        trajectory = play_turns(turns, TASK, world)
        given = {**score(trajectory, TASK, schemas).as_log(), "stop": str(trajectory.stop)}
        row = trajectory.to_json()
        spans = [{"turn": turn, "start": 80 * turn, "end": 80 * turn + 40} for turn in range(len(turns))]
        yield {**row, "spans": spans, "meta": {**row["meta"], "tokens": 80 * len(turns), "reward": given}}


def _responses(hits: int) -> list[Any]:
    places = [{"dest_id": str(2733 + n), "search_type": "city", "name": f"Oslo {n}"} for n in range(hits)]
    hotels = [{"hotel_id": 880017 + n, "name": f"Fjord House {n}", "price": 1450.5 + n} for n in range(hits)]
    return [{"data": places}, {"data": {"hotels": hotels}}]
