"""`answer_call`: the one way a world answers, whatever lies behind it.

    unknown tool → unknown_tool · an answer found → that · wrong arguments → invalid_arguments · anything else → miss

The look-up comes before validation: what is recorded is an answer even where the service was laxer than our schema.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import canonical_arguments
from environment.core.errors import nearest_name
from environment.core.schema import ToolSchema
from environment.core.validate import check_canonical

MISS_TEXT = "No results found"
Found = TypeVar("Found")


class World(Protocol):
    """Anything that answers calls: recorded, simulated or live."""

    @property
    def schemas(self) -> Mapping[str, ToolSchema]:
        """The tools of this world by name."""
        ...

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the answer to one call; never raises because of what a model wrote."""
        ...


def waits(world: World) -> bool:
    """Return whether calls of a world wait for another machine, which it says by an attribute `waits`."""
    return bool(getattr(world, "waits", False))


def answer_call(
    schemas: Mapping[str, ToolSchema],
    name: str,
    arguments: Mapping[str, JsonValue],
    look_up: Callable[[ToolSchema, dict[str, JsonValue]], Found | None],
) -> Found | WorldAnswer:
    """Answer a call by `look_up`, which gets canonical arguments and gives None where it knows nothing.

    What `look_up` found is returned as it is: an answer, or whatever the caller makes one of.
    """
    schema = schemas.get(name)
    if schema is None:
        near = nearest_name(name, schemas)
        hint = f", did you mean {near}?" if near else ""
        return failure(ResultStatus.UNKNOWN_TOOL, f"Unknown tool {name[:60]}{hint}")
    canonical = canonical_arguments(schema, arguments)
    found = look_up(schema, canonical)
    if found is not None:
        return found
    problems = check_canonical(schema, canonical)
    if problems:
        return failure(ResultStatus.INVALID_ARGUMENTS, "; ".join(problems))
    return failure(ResultStatus.MISS, MISS_TEXT)


def failure(status: ResultStatus, text: str) -> WorldAnswer:
    """Return an answer that says in one sentence why there is none."""
    return WorldAnswer(status, {"error": text})
