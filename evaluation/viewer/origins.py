"""Where the values of a call came from: a field of an earlier result, the request, or nowhere that can be seen.

The rule is the reward's: a value counts as seen when it stood in the answered result of an earlier turn. Of several
such places the one the gold chain names is given, else the first. Truth values, nothing and one-digit numbers stand in
many places by chance, so they are traced only where the gold chain says that they come from somewhere.
"""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from BFCL.check.flow import scalar_key
from BFCL.check.match import Match
from environment.core.calls import JsonValue, ResultStatus
from environment.core.canonical import fold_text
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from environment.session.json_text import path_text, scalars


@dataclass(frozen=True)
class Origin:
    """Where one value of one call came from."""

    number: int
    """Counts the origins of an episode."""
    call: int
    """Position of the consuming call."""
    argument: str
    """Path of the value in its arguments."""
    value: JsonValue
    producer: int | None = None
    """Position of the call whose result held it; None where no earlier result did."""
    field: str = ""
    """Path into that result."""
    requested: bool = False
    """The value stands in what the user wrote."""
    expected: str = ""
    """The gold chain takes it from here, but it was not seen before: `step 1: data[0].dest_id`."""


def origins(trajectory: Trajectory, task: Task | None, match: Match | None) -> list[Origin]:
    """Return what is known of every value of every call, call by call."""
    return list(_Tracer(trajectory, _edges(task, match)).trace())


Edges = Mapping[tuple[int, str], tuple[int | None, int, str]]
"""(position of a call, argument path) → (position of the producing call, producing step, field) by the gold chain."""


class _Tracer:
    def __init__(self, trajectory: Trajectory, edges: Edges) -> None:
        self._calls = trajectory.calls
        self._edges = edges
        self._shown = _shown(trajectory)
        said = (str(m.get("content") or "") for m in trajectory.messages if m.get("role") == "user")
        self._request = fold_text(" ".join(said))

    def trace(self) -> Iterator[Origin]:
        number = 0
        for position, call in enumerate(self._calls):
            for path, value in scalars(call.arguments):
                argument = path_text(path)
                if not isinstance(value, dict | list) and ((position, argument) in self._edges or not _common(value)):
                    yield self._origin(number, position, argument, value)
                    number += 1

    def _origin(self, number: int, position: int, argument: str, value: JsonValue) -> Origin:
        edge = self._edges.get((position, argument))
        turn = self._calls[position].turn
        seen = [(p, field) for p, field in self._shown.get(scalar_key(value), ()) if self._calls[p].turn < turn]
        if seen:
            wanted = (edge[0], edge[2]) if edge else None
            near = [place for place in seen if edge and place[0] == edge[0]]
            producer, field = wanted if wanted in seen and wanted else (near or seen)[0]
            return Origin(number, position, argument, value, producer, field)
        requested = self._stands_in_request(value)
        expected = f"step {edge[1] + 1}: {edge[2]}" if edge else ""
        return Origin(number, position, argument, value, requested=requested, expected=expected)

    def _stands_in_request(self, value: JsonValue) -> bool:
        text = fold_text(str(value))
        return bool(text) and re.search(rf"(?<!\w){re.escape(text)}(?!\w)", self._request) is not None


def _shown(trajectory: Trajectory) -> dict[str, list[tuple[int, str]]]:
    """Return where each value stood in answered results: (position of the call, field), in order."""
    answered = {r.call_id for r in trajectory.results if r.status == ResultStatus.OK}
    position = {call.id: at for at, call in enumerate(trajectory.calls) if call.id in answered}
    shown: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for seen in trajectory.ledger:
        if seen.call_id in position and not isinstance(seen.value, dict | list):
            shown[scalar_key(seen.value)].append((position[seen.call_id], seen.field))
    return dict(shown)


def _edges(task: Task | None, match: Match | None) -> Edges:
    if task is None or match is None:
        return {}
    call_of = {step.step: step.call for step in match.steps}
    return {
        (consumer, edge.argument): (call_of.get(edge.producer), edge.producer, edge.field)
        for step, gold in enumerate(task.steps)
        if (consumer := call_of.get(step)) is not None
        for edge in gold.edges
    }


def _common(value: JsonValue) -> bool:
    """Say whether a value is found in many places by chance."""
    return value is None or isinstance(value, bool) or len(str(value)) < 2
