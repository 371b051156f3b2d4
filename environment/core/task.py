"""`Task`: a request, the tools on offer and the chain of calls that answers it.

A task is what one rollout works on, in training and in evaluation. `GoldStep.depends_on` and `GoldStep.edges`
are the dependency graph: an edge says which argument of the step came out of which field of which earlier result.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from environment.core.calls import JsonValue

TASK_VERSION = 1
"""Version of the JSON form of a task."""


@dataclass(frozen=True)
class Edge:
    """Argument `argument` (a path such as `dest_id` or `legs[0].fromId`) is the value at `field` of step `producer`."""

    argument: str
    producer: int
    field: str


@dataclass(frozen=True)
class GoldStep:
    """One call of the gold chain."""

    function: str
    arguments: dict[str, JsonValue]
    depends_on: tuple[int, ...] = ()
    edges: tuple[Edge, ...] = ()
    accepted: tuple[dict[str, JsonValue], ...] = ()
    """Further argument sets that are as right as `arguments`."""


@dataclass(frozen=True)
class Task:
    """One row of a training or held-out set."""

    id: str
    query: str
    tools: tuple[str, ...]
    """Names of the tools on offer, in the order they are rendered; the same order in SFT, RL and evaluation."""
    steps: tuple[GoldStep, ...]
    pattern: str = ""
    """Identity of the workflow template."""
    domain: str = ""
    answer: str = ""
    """A short closing message that uses what was found; the last message of an SFT dialogue."""

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object; `from_json` reads it back."""
        return {"version": TASK_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Task:
        """Build a task from what `to_json` wrote (lists and tuples alike)."""
        steps = tuple(_step(s) for s in row["steps"])
        text = {key: str(row.get(key) or "") for key in ("pattern", "domain", "answer")}
        return cls(id=str(row["id"]), query=str(row["query"]), tools=tuple(row["tools"]), steps=steps, **text)


def _step(row: Mapping[str, Any]) -> GoldStep:
    edges = tuple(Edge(e["argument"], int(e["producer"]), e["field"]) for e in row.get("edges") or ())
    depends_on = tuple(int(d) for d in row.get("depends_on") or ())
    accepted = tuple(dict(a) for a in row.get("accepted") or ())
    return GoldStep(row["function"], dict(row["arguments"]), depends_on, edges, accepted)
