"""Tasks with their worlds: made by hand, and the reference's records where they are at hand."""
from __future__ import annotations

from typing import Any

from BFCL.check.tests.moves import chain, fan
from environment.booking.schemas import load_schemas
from environment.core.schema import ToolSchema
from environment.core.task import Task
from training.reward.tests.policies import Setting
from training.reward.tests.records import records


def schemas_of(task: Task) -> dict[str, ToolSchema]:
    """Return a schema a tool, as its gold arguments suggest; every argument is required."""
    found: dict[str, dict[str, Any]] = {}
    for step in task.steps:
        types = {n: {"type": "integer" if isinstance(v, int) else "string"} for n, v in step.arguments.items()}
        found.setdefault(step.function, {}).update(types)
    return {
        name: ToolSchema(name, "", {"type": "object", "properties": types, "required": [*types]})
        for name, types in found.items()
    }


def made() -> list[Setting]:
    """Return chains and fans of several lengths, three steps and more."""
    tasks = [chain(3), chain(5), chain(8), fan(2), fan(4)]
    return [Setting(task, responses, schemas_of(task)) for task, responses in tasks]


def recorded(name: str) -> list[Setting]:
    """Return the reference's records of one file under the project's own schemas; skips where the file is absent."""
    schemas = load_schemas()
    return [Setting(task, responses, schemas) for task, responses in records(name)]
