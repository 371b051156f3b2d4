"""Asking a world and following its answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from environment.core.calls import ResultStatus
from environment.core.dispatch import World


def ask(world: World, tool: str, **arguments: Any) -> Any:
    """Return the `data` of an answer that must be ok."""
    answer = world.call(tool, arguments)
    assert answer.status is ResultStatus.OK, (tool, arguments, answer)
    return answer.value["data"]


def miss(world: World, tool: str, **arguments: Any) -> bool:
    """Tell whether a call is valid and unanswered."""
    return world.call(tool, arguments).status is ResultStatus.MISS


def at(value: Any, path: str) -> Iterator[Any]:
    """Yield every value at a response path such as `data.hotels[].hotel_id`."""
    values: list[Any] = [value]
    for part in re.findall(r"[^.\[\]]+|\[\]", path):
        if part == "[]":
            values = [item for v in values if isinstance(v, list) for item in cast("list[Any]", v)]
        else:
            values = [v[part] for v in values if isinstance(v, dict) and part in v]
    yield from values
