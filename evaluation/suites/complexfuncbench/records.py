"""Result records in the layout of ToolOrchestrationReward, one JSON object an entry, for scripts that read those.

    {id, gen_convs, message, count_dict: {success_turn_num, total_turn_num, correct_call_num, total_call_num,
     real_turn_num}, resp_eval: null | {complete: {score, reason}, correct: {score, reason}}}

Counts are those of the rule set `reference`. An entry that the infrastructure failed has no record: it is owed, and a
record would make it count as wrong.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from environment.core.calls import ParseStatus, ToolCall
from environment.core.trajectory import Trajectory
from evaluation.runner import judge_stored
from evaluation.store import key_of, write_whole
from evaluation.suite import Judged
from evaluation.suites.complexfuncbench.suite import ComplexFuncBench

JUDGE_FAILED, NO_ANSWER = -1, -2
"""Scores that stand for no score."""
_COUNTS = ("success_turn_num", "total_turn_num", "correct_call_num", "total_call_num", "real_turn_num")


def write_records(suite: ComplexFuncBench, trajectories: Path, out: Path) -> int:
    """Write the records of the greedy episodes of a run, whole, and return how many."""
    judged = [j for j in judge_stored(trajectories, suite, 0) if j.outcome is not None]
    write_whole(out, "".join(json.dumps(record(suite, j), ensure_ascii=False) + "\n" for j in judged).encode())
    return len(judged)


def record(suite: ComplexFuncBench, judged: Judged) -> dict[str, Any]:
    """Return the record of one judged episode."""
    assert judged.outcome is not None
    row = judged.outcome.to_json()["reference"]
    return {
        "id": judged.item.id,
        "gen_convs": list(conversation(judged.trajectory)),
        "message": row["message"],
        "count_dict": {name: row[name] for name in _COUNTS},
        "resp_eval": _grades(suite, judged.trajectory),
    }


def conversation(trajectory: Trajectory) -> Iterator[dict[str, Any]]:
    """Yield the messages as chat messages with `tool_calls`; tool messages name the call they answer."""
    turn, waiting = -1, list[ToolCall]()
    for message in trajectory.messages:
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            turn += 1
            waiting = [c for c in trajectory.calls if c.turn == turn]
            yield {"role": role, "content": content, **({"tool_calls": _tool_calls(waiting)} if waiting else {})}
        elif role == "tool" and waiting:
            call = waiting.pop(0)
            yield {"tool_call_id": call.id, "role": role, "name": call.name, "content": content}
        else:
            yield {"role": role, "content": content}


def _tool_calls(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    return [{"id": c.id, "type": "function", "function": {"name": c.name, "arguments": _text(c)}} for c in calls]


def _text(call: ToolCall) -> str:
    return json.dumps(call.arguments, ensure_ascii=False) if call.status == ParseStatus.OK else call.raw


def _grades(suite: ComplexFuncBench, trajectory: Trajectory) -> dict[str, Any] | None:
    if suite.answers is None:
        return None
    if not trajectory.answer.strip():
        none = {"score": NO_ANSWER, "reason": "no answer"}
        return {"complete": none, "correct": none}
    grades = suite.answers.grades.get(key_of(trajectory), {})
    named = {"complete": grades.get("completeness"), "correct": grades.get("correctness")}
    return {
        name: {"score": JUDGE_FAILED, "reason": g.failed if g else "not asked"}
        if g is None or g.score is None
        else {"score": g.score, "reason": g.reason}
        for name, g in named.items()
    }
