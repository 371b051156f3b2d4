"""Writing entries in ComplexFuncBench's format, out of tasks and what a world answers to their gold calls.

Steps whose producers are all done go into one turn, side by side, as the benchmark has them; without known dependencies
every step is a turn of its own.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from environment.core.calls import JsonValue
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Task


def entry_row(
    task: Task, schemas: Mapping[str, ToolSchema], responses: Sequence[JsonValue], *, parallel: bool = True
) -> dict[str, Any]:
    """Return a task as an entry.

    Args:
        task: its steps are the gold calls.
        schemas: the tools it offers.
        responses: the answer to each step; None where none is known, which leaves that observation empty.
        parallel: independent steps share a turn.

    Raises:
        DataError: a task without steps, or with tools that have no schema.
    """
    if not task.steps:
        raise DataError("a task without a gold call has nothing to be judged by", where=f"task {task.id}")
    unknown = next((name for name in task.tools if name not in schemas), None)
    if unknown is not None:
        raise DataError("tool without a schema", where=f"task {task.id}", got=unknown)
    conversation: list[dict[str, Any]] = [{"role": "user", "content": task.query}]
    for steps in turns_of(task) if parallel else [[i] for i in range(len(task.steps))]:
        calls = [{"name": task.steps[i].function, "arguments": dict(task.steps[i].arguments)} for i in steps]
        conversation.append({"role": "assistant", "function_call": calls})
        observed = ["" if responses[i] is None else responses[i] for i in steps]
        conversation.append({"role": "observation", "content": observed})
    conversation.append({"role": "assistant", "content": task.answer or "Done."})
    functions = [schemas[name].as_openai()["function"] for name in task.tools]
    return {"id": entry_id(task), "conversations": conversation, "functions": functions}


def turns_of(task: Task) -> list[list[int]]:
    """Return the steps of each turn: a step comes as soon as all that it depends on has come before."""
    depth: list[int] = []
    for step in task.steps:
        needs = {*step.depends_on, *(e.producer for e in step.edges)}
        depth.append(1 + max((depth[n] for n in needs if n < len(depth)), default=-1))
    return [[i for i, d in enumerate(depth) if d == level] for level in range(max(depth) + 1)]


def entry_id(task: Task) -> str:
    """Return the task's id, led by its domain as the benchmark's ids are, where it has one."""
    return task.id if not task.domain or task.id.startswith(task.domain) else f"{task.domain.capitalize()}-{task.id}"
