"""Runs to look at: rollouts with rewards and spans, evaluations with summaries, and text that means harm."""
from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from environment.core.task import Task
from environment.core.trajectory import TokenSpan, Trajectory
from evaluation.judge import judge
from evaluation.tests.support import SCHEMAS, evaluation_of, make_task, plain_reward, play, script, write_parquet

HOSTILE = '</pre></title><script>document.title="owned"</script><img src=x onerror=alert(1)>\x1b[31m\u202egnp.exe\u200f'
"""Tags, a terminal's colour code, marks that turn text around."""
PATHLIKE = "../../etc/passwd\x00/%2e%2e/'\"&?#"
"""A task id that would like to be a path or an address."""
KINDS = ("right", "wrong", "surplus", "garbled", "talk")


def rollout(task: Task, kind: str, sample: int, step: int | None = 1) -> Trajectory:
    """Return an episode as training keeps it: reward, step and spans of tokens in it."""
    trajectory = play(task, script(task, kind), sample)
    verdict = judge(trajectory, task, SCHEMAS, plain_reward)
    assert verdict is not None
    form = 1.0 if verdict.readable == verdict.calls else 0.25
    reward = {
        "score": verdict.reward, "acc": float(verdict.success), "R_form": form,
        "calls/made": float(verdict.calls), "void": 0.0, "stop": str(trajectory.stop),
    }  # fmt: skip
    spans = tuple(TokenSpan(turn, 60 * turn, 60 * turn + 35) for turn in range(verdict.turns))
    meta = {**trajectory.meta, "tokens": 60 * verdict.turns, "reward": reward}
    return replace(trajectory, spans=spans, meta=meta if step is None else {**meta, "step": step})


def write_lines(path: Path, trajectories: Iterable[Trajectory | dict[str, Any]]) -> Path:
    """Write trajectories, one a line."""
    rows = [t.to_json() if isinstance(t, Trajectory) else t for t in trajectories]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rollouts(step: int, tasks: Sequence[Task], kinds: Sequence[str] = KINDS) -> list[Trajectory]:
    """Return a step's rollouts: every task in every kind."""
    return [rollout(task, kind, sample, step) for task in tasks for sample, kind in enumerate(kinds)]


def make_viewed_run(folder: Path, steps: int = 2, items: int = 6) -> Path:
    """Write a run with its tasks, rollouts of some steps, evaluations of two models and a metrics file."""
    tasks = [make_task(i, 2 if i % 3 else 1) for i in range(items)]
    write_parquet(folder / "data" / "rl_train.parquet", tasks)
    for step in range(1, steps + 1):
        write_lines(folder / "rollouts" / f"step_{step:05d}.jsonl", rollouts(step, tasks))
    for name, skill in (("sft", 0.4), ("rl", 0.8)):
        evaluation_of(name, folder / "eval", tasks, skill, samples=2)
    (folder / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n', encoding="utf-8")
    return folder


def hostile() -> dict[str, Any]:
    """Return a trajectory whose every text means harm."""
    task = make_task(1)
    row = rollout(task, "surplus", 0).to_json()
    row["task_id"] = PATHLIKE + HOSTILE
    for message in row["messages"]:
        message["content"] = HOSTILE + str(message["content"]) + "\ud800"
    for call in row["calls"]:
        call["name"] += HOSTILE
        call["arguments"] = {HOSTILE: HOSTILE, **call["arguments"]}
    for result in row["results"]:
        result["text"] = HOSTILE + result["text"]
        result["value"] = {HOSTILE: [HOSTILE, {"dest_id": "4001"}]}
    row["ledger"] = [{**seen, "field": HOSTILE, "value": HOSTILE} for seen in row["ledger"]]
    row["meta"][HOSTILE] = {HOSTILE: HOSTILE}
    row["meta"]["reward"][HOSTILE] = HOSTILE
    row["answer"] = HOSTILE
    return row


def save_tasks(path: Path, tasks: Sequence[Task]) -> Path:
    """Write tasks as rows of a file that `--tasks` reads."""
    path.write_text("".join(json.dumps(task.to_json()) + "\n" for task in tasks), encoding="utf-8")
    return path
