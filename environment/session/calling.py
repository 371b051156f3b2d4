"""From a call to the world's answer: the checks that stand before every call."""
from __future__ import annotations

from collections.abc import Mapping

from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall, WorldAnswer
from environment.core.dispatch import failure
from environment.core.errors import DataError, nearest_name
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.validate import check_arguments
from environment.session.json_text import is_object
from environment.session.world import World

LONGEST_NAME = 60
"""Characters of an unknown name that are repeated to the model; longer ones are not compared with known names."""


def offered_tools(task: Task, schemas: Mapping[str, ToolSchema]) -> dict[str, ToolSchema]:
    """Return the tools of a task by name, in the task's order; DataError where one has no schema."""
    for name in task.tools:
        if name not in schemas:
            nearest = nearest_name(name, schemas)
            raise DataError("tool without a schema", where=f"task {task.id}", got=name, nearest=nearest)
    return {name: schemas[name] for name in task.tools}


def answer_call(call: ToolCall, tools: Mapping[str, ToolSchema], world: World) -> WorldAnswer:
    """Return what becomes of a call. Raises only what `world.call` raises.

    An unreadable call and a tool that is not on offer never reach the world. Arguments are the world's to judge, for a
    recorded answer counts even where our schema is stricter than the service was; a bare miss is explained by
    what the schema says of the arguments.
    """
    if call.status is not ParseStatus.OK:
        return failure(ResultStatus.NOT_EXECUTED, call.problem or "unreadable call")
    if call.name not in tools:
        return failure(ResultStatus.UNKNOWN_TOOL, _unknown(call.name, tools))
    answer = world.call(call.name, call.arguments)
    if answer.status is ResultStatus.OK:
        return answer
    problems = check_arguments(tools[call.name], call.arguments) if answer.status is ResultStatus.MISS else []
    if problems:
        return failure(ResultStatus.INVALID_ARGUMENTS, "; ".join(problems))
    return WorldAnswer(answer.status, _as_error(answer))


def _as_error(answer: WorldAnswer) -> JsonValue:
    value: JsonValue = answer.value
    if is_object(value) and "error" in value:
        return value
    return {"error": value or answer.status.value}


def _unknown(name: str, tools: Mapping[str, ToolSchema]) -> str:
    nearest = nearest_name(name, tools) if len(name) <= LONGEST_NAME else None
    hint = f"; did you mean {nearest}?" if nearest else ""
    return f"no tool {name[:LONGEST_NAME]!r}{hint}"
