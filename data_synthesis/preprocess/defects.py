"""Defects of records made elsewhere: they can be trained on, but a user should know.

    no response        a step says it succeeded and stores nothing
    invalid call       the tool doesn't take the arguments
    contradiction      an argument that results of earlier steps supply has a value none of them holds
    unsolvable         a required argument is neither in the query nor in an earlier result
    unstated           the same for an optional argument
    dependencies lost  values come from earlier results, and no step says so
    internal value     the query says an id out of a result

Whether a query states a value is judged by `single_turn.support`, by words and numbers alone.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from data_synthesis.joins import Earlier
from data_synthesis.paths import generic, leaves
from data_synthesis.single_turn.support import Query, supports
from environment.core.canonical import canonical_arguments, fold_text
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.validate import check_arguments


def defects(record: Mapping[str, Any], task: Task, schemas: Mapping[str, ToolSchema]) -> dict[str, str]:
    """Return kind of defect → the first place that has it; empty for a sound record."""
    found: dict[str, str] = {}
    for kind, detail in _all(record, task, schemas):
        found.setdefault(kind, detail)
    return found


def _all(record: Mapping[str, Any], task: Task, schemas: Mapping[str, ToolSchema]) -> Iterator[tuple[str, str]]:
    responses = [(step.get("execution_result") or {}) for step in record["steps"]]
    earlier: list[Earlier] = []
    query = Query(task.query)
    for number, (step, outcome) in enumerate(zip(task.steps, responses, strict=True)):
        where = f"step {number} {step.function}"
        if outcome.get("success", True) and outcome.get("execution_result") in ("", None):
            yield "no response", where
        schema = schemas.get(step.function)
        if schema is not None:
            yield from (("invalid call", f"{where}: {wrong}") for wrong in check_arguments(schema, step.arguments)[:1])
            yield from _sources(step, schema, query, earlier, where)
        yield from _leaks(step, query, where)
        earlier.append(Earlier(number, schema, outcome.get("execution_result")))
    if not any(step["depends_on"] for step in record["steps"] if "depends_on" in step):
        edges = sum(len(step.edges) for step in task.steps)
        if edges:
            yield "dependencies lost", f"{edges} values come from earlier results"


def _sources(
    step: GoldStep, schema: ToolSchema, query: Query, earlier: Sequence[Earlier], where: str
) -> Iterator[tuple[str, str]]:
    joined = {edge.argument for edge in step.edges}
    for path, value in leaves(dict(canonical_arguments(schema, step.arguments))):
        if path in joined or supports(query, value):
            continue
        name = f"{where}: {path} = {str(value)[:60]}"
        if _supplied(schema.takes.get(generic(path)), earlier):
            yield "contradiction", name
        elif path.partition(".")[0].partition("[")[0] in schema.required:
            yield "unsolvable", name
        else:
            yield "unstated", name


def _supplied(port: str | None, earlier: Sequence[Earlier]) -> bool:
    """Return whether an earlier result that is stored holds values of this port."""
    return port is not None and any(
        e.schema is not None and port in e.schema.gives.values() and e.response not in ("", None) for e in earlier
    )


def _leaks(step: GoldStep, query: Query, where: str) -> Iterator[tuple[str, str]]:
    words = set(query.folded.replace(",", " ").split())
    for edge in step.edges:
        value = dict(leaves(step.arguments)).get(edge.argument)
        text = fold_text(str(value))
        if len(text) >= 3 and any(c.isdigit() or c in "_=." for c in text) and text in words:
            yield "internal value", f"{where}: {edge.argument} = {text[:60]}"
