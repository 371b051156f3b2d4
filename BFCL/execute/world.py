"""One rollout's own copy of a simulated world: calls go in as text, observations come out as text.

    world = World(row.classes, row.config, long_context=row.long_context)
    world.call("cd(folder='document')")   ->   '{"current_working_directory": "document"}'

Every rollout has fresh instances that nothing else refers to; when the world is dropped, they are gone. A call is read
as literals and looked up in a table of public methods, so a model's text reaches no name of Python's. Whatever goes
wrong in a call is an observation that says so.

The classes keep a precision and a table of weather in globals of their modules. One call at a time is made in a
process, its text is taken before the next begins, and the caller's own decimal context is left as it was.
"""
from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from decimal import localcontext
from typing import Any, cast

import orjson

from BFCL.execute.bounds import refusal
from BFCL.execute.classes import STATELESS, load_class, owners
from BFCL.execute.deadline import Overdue, within
from BFCL.parse.one_call import OneCall, read_call
from environment.core.errors import nearest_name

CALL_SECONDS = 2.0
"""What a call may take; the slowest of any gold chain takes some milliseconds."""

FAILED = "Error during execution: "
"""What the observation of a call that failed begins with."""

_ONE_AT_A_TIME = threading.RLock()


class World:
    """Instances of a row's classes in the row's starting state."""

    def __init__(
        self,
        classes: Sequence[str],
        config: Mapping[str, Any] | bytes,
        *,
        long_context: bool = False,
        call_seconds: float = CALL_SECONDS,
    ) -> None:
        """Build the instances.

        Args:
            classes: names of classes, in the row's order.
            config: class → starting state, or that as JSON; it is copied.
            long_context: whether results are padded.
            call_seconds: what a call may take.
        """
        state = orjson.loads(config if isinstance(config, bytes) else packed(config))
        self._owners = owners(tuple(classes))
        self._instances = {name: _instance(name, state.get(name, {}), long_context) for name in classes}
        self._seconds = call_seconds

    def run(self, calls: Sequence[str]) -> list[str]:
        """Make calls one after the other; return their observations."""
        return [self.call(call) for call in calls]

    def call(self, source: str | OneCall) -> str:
        """Make one call and return its observation."""
        call = read_call(source) if isinstance(source, str) else source
        if isinstance(call, str):
            return f"{FAILED}the call can't be read: {call}"
        owner = self._owners.get(call.name)
        if owner is None:
            return FAILED + self._unknown(call.name)
        refused = refusal(owner, call.name, call.positional, call.keywords)
        return FAILED + refused if refused else self._observed(owner, call)

    def state(self) -> dict[str, dict[str, Any]]:
        """Return class → public attributes, as they are: not copies."""
        return {name: _public(instance) for name, instance in self._instances.items()}

    def _unknown(self, name: str) -> str:
        near = nearest_name(name, self._owners)
        return f"there is no function {name[:100]!r}" + (f", did you mean {near}?" if near else "")

    def _observed(self, owner: str, call: OneCall) -> str:
        method = getattr(self._instances[owner], call.name)
        try:
            with _ONE_AT_A_TIME, localcontext():
                return within(self._seconds, lambda: _text(method(*call.positional, **call.keywords)))
        except Overdue:
            return f"{FAILED}the call took longer than {self._seconds:g} s"
        except Exception as error:
            return f"{FAILED}{error}"


def packed(config: Mapping[str, Any]) -> bytes:
    """Return a starting state as JSON, from which a world reads its own copy."""
    return orjson.dumps(config)


def _instance(name: str, state: Mapping[str, Any], long_context: bool) -> Any:
    instance: Any = load_class(name)()
    if name not in STATELESS:
        instance._load_scenario(state, long_context=long_context)
    return instance


def _public(instance: Any) -> dict[str, Any]:
    attributes = cast("dict[str, Any]", vars(instance))
    return {key: value for key, value in attributes.items() if not key.startswith("_")}


def _text(value: object) -> str:
    """Return a result as the model sees it: a text as it is, an object as JSON, anything else as Python writes it."""
    if type(value) is str:
        return value
    if type(value) is dict:
        try:
            return json.dumps(cast("dict[Any, Any]", value))
        except (TypeError, ValueError, RecursionError):
            return str(cast("dict[Any, Any]", value))
    return str(value)
