"""The ledger: every value a model has seen, with the place it came from."""
from __future__ import annotations

from collections.abc import Iterator

from environment.core.calls import JsonValue
from environment.core.trajectory import Observed
from environment.session.json_text import path_text, scalars
from environment.session.observation import Clipped, LeftOut


def observed(call_id: str, seen: JsonValue) -> Iterator[Observed]:
    """Yield the scalars of an observation in document order.

    Clipped strings, counts of what was left out and empty containers are no values of the world and are passed over.
    """
    for path, value in scalars(seen):
        if not isinstance(value, Clipped | LeftOut | dict | list):
            yield Observed(call_id, path_text(path), value)
