"""Records to tasks and back: `task_from_record`, `record_from_task`.

A record of the reference has no `tools` and no `edges`: its tools are the union of its candidate tools, in order of
first appearance, and its edges are joined over the stored responses (`joins`). Our own records carry both.
"""
from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from data_synthesis.joins import Earlier, join_edges
from data_synthesis.records import RECORD_VERSION
from environment.core.calls import JsonValue, WorldAnswer
from environment.core.errors import DataError, nearest_name
from environment.core.schema import ToolSchema
from environment.core.task import Edge, GoldStep, Task


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class _Call(_Lenient):
    function: str = Field(min_length=1)
    arguments: dict[str, Any]
    accepted: list[dict[str, Any]] = []


class _Edge(_Lenient):
    argument: str
    producer: int = Field(ge=0)
    field: str


class _Outcome(_Lenient):
    execution_result: Any = None
    success: bool = True


class _Step(_Lenient):
    ground_truth: _Call
    candidate_tools: list[str] = []
    depends_on: list[int] = []
    edges: list[_Edge] | None = None
    execution_result: _Outcome | None = None


class _Record(_Lenient):
    query: str = Field(min_length=1)
    steps: list[_Step] = Field(min_length=1)
    id: str | None = None
    workflow_id: str = ""
    domain: str = ""
    tools: list[str] = []
    answer: str = ""


def task_from_record(
    record: Mapping[str, Any],
    schemas: Mapping[str, ToolSchema] | None = None,
    *,
    max_tools: int | None = None,
    where: str = "record",
) -> Task:
    """Return the task of a record.

    Args:
        record: ours or the reference's.
        schemas: where given, every tool must be among them, and joined edges follow their ports.
        max_tools: at most so many tools on offer; the tools of the gold chain always stay.
        where: how errors call the record.

    Raises:
        DataError: a key is missing or malformed, a step depends on a later one, or a tool is unknown.
    """
    try:
        row = _Record.model_validate(record)
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"])
        raise DataError(f"record field {path}: {first['msg'].lower()}", where=where, got=first.get("input")) from error
    tools = _offered(row, max_tools)
    _check_tools(row, tools, schemas, where)
    return Task(
        id=row.id or _identity(row),
        query=row.query.strip(),
        tools=tools,
        steps=_steps(row, schemas, where),
        pattern=row.workflow_id,
        domain=row.domain or _domain(row, schemas),
        answer=row.answer,
    )


def record_from_task(task: Task, answers: Sequence[WorldAnswer], metadata: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Return the record of a task whose steps were answered by `answers`; `task_from_record` reads it back equal."""
    steps = [_step_row(task, number, answer) for number, answer in enumerate(answers)]
    return {
        "id": task.id,
        "query": task.query,
        "workflow_id": task.pattern,
        "workflow_pattern": [step.function for step in task.steps],
        "domain": task.domain,
        "tools": list(task.tools),
        "answer": task.answer,
        "steps": steps,
        "overall_success": all(answer.status == "ok" for answer in answers),
        "metadata": {"record_version": RECORD_VERSION, **metadata},
    }


def _step_row(task: Task, number: int, answer: WorldAnswer) -> dict[str, Any]:
    step = task.steps[number]
    call: dict[str, Any] = {"function": step.function, "arguments": step.arguments}
    accepted = {"accepted": list(step.accepted)} if step.accepted else {}
    edges = [{"argument": e.argument, "producer": e.producer, "field": e.field} for e in step.edges]
    outcome = {"step": number, **call, "execution_result": answer.value, "success": answer.status == "ok"}
    return {
        "step": number,
        "ground_truth": {**call, **accepted},
        "candidate_tools": list(task.tools),
        "depends_on": list(step.depends_on),
        "edges": edges,
        "execution_result": outcome,
    }


def _steps(row: _Record, schemas: Mapping[str, ToolSchema] | None, where: str) -> tuple[GoldStep, ...]:
    done: list[GoldStep] = []
    given = all([step.edges is not None for step in row.steps])
    earlier: list[Earlier] = []
    for number, step in enumerate(row.steps):
        call, outcome = step.ground_truth, step.execution_result
        late = [d for d in step.depends_on if not 0 <= d < number]
        if late:
            raise DataError(f"step {number} depends on a step that is not before it", where=where, got=late[0])
        schema = (schemas or {}).get(call.function)
        edges = (
            _edges(step, number, where)
            if step.edges is not None
            else join_edges(call.arguments, schema, earlier, step.depends_on, row.query)
        )
        depends = tuple(sorted({*step.depends_on, *(e.producer for e in edges)}))
        done.append(GoldStep(call.function, call.arguments, depends, edges, tuple(call.accepted)))
        if not given:
            earlier.append(Earlier(number, schema, outcome.execution_result if outcome else None))
    return tuple(done)


def _edges(step: _Step, number: int, where: str) -> tuple[Edge, ...]:
    edges = tuple(Edge(e.argument, e.producer, e.field) for e in step.edges or ())
    for edge in edges:
        if edge.producer >= number:
            raise DataError(
                f"step {number} takes a value from a step that is not before it", where=where, got=edge.producer
            )
    return edges


def _offered(row: _Record, max_tools: int | None) -> tuple[str, ...]:
    gold = list(dict.fromkeys(step.ground_truth.function for step in row.steps))
    union = row.tools or [name for step in row.steps for name in step.candidate_tools]
    offered = list(dict.fromkeys([*union, *gold]))
    if max_tools is None or len(offered) <= max_tools:
        return tuple(offered)
    spare = max(max_tools - len(gold), 0)
    kept = {*gold, *[name for name in offered if name not in gold][:spare]}
    return tuple(name for name in offered if name in kept)


def _check_tools(row: _Record, tools: Sequence[str], schemas: Mapping[str, ToolSchema] | None, where: str) -> None:
    for name in tools if schemas is not None else ():
        if name not in (schemas or {}):
            known = schemas or {}
            raise DataError(
                f"unknown tool {name!r}",
                where=where,
                expected="a tool of the schema file",
                nearest=nearest_name(name, known),
                fix="correct the name, or pass the schema file that defines it",
            )


def _identity(row: _Record) -> str:
    calls = [[step.ground_truth.function, step.ground_truth.arguments] for step in row.steps]
    text = orjson.dumps([row.query, calls], option=orjson.OPT_SORT_KEYS)
    return f"{row.workflow_id or 'record'}-{hashlib.sha256(text).hexdigest()[:8]}"


def _domain(row: _Record, schemas: Mapping[str, ToolSchema] | None) -> str:
    groups = {schemas[s.ground_truth.function].group for s in row.steps} if schemas else set[str]()
    return next(iter(groups)) if len(groups) == 1 else "cross" if groups else ""
