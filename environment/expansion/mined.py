"""Mined data dependencies judged by the ports: those the ports give too, those they deny, those they miss.

Mining by equal values takes chance for cause: a count of hotels that equals a number of adults. A port says what kind
of value a parameter takes; a parameter without one is the user's to state.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from environment.core.ports import generic_path, port_edges
from environment.core.schema import ToolSchema
from environment.expansion.workflows import mined_edges

Edge = tuple[str, str, str, str]
"""Producer, generic field, consumer, argument."""


@dataclass(frozen=True)
class JudgedEdge:
    """One kind of mined dependency."""

    producer: str
    field: str
    consumer: str
    argument: str
    count: int
    """How often it was mined."""
    verdict: str
    """`given`, `denied` or `missed`."""
    reason: str = ""


def judge_edges(templates: Path, schemas: Mapping[str, ToolSchema]) -> Iterator[JudgedEdge]:
    """Yield every kind of mined dependency with the verdict of the ports, by consumer.

    Raises:
        DataError: the file can't be read.
    """
    ours = {(e.producer, generic_path(e.field), e.consumer, generic_path(e.argument)) for e in port_edges(schemas)}
    found = Counter(mined_edges(templates, schemas))
    for edge, count in sorted(found.items(), key=lambda item: (item[0][2], item[0][3], item[0][0])):
        verdict, reason = ("given", "") if edge in ours else _refused(edge, schemas)
        yield JudgedEdge(*edge, count, verdict, reason)


def _refused(edge: Edge, schemas: Mapping[str, ToolSchema]) -> tuple[str, str]:
    producer, field, consumer, argument = edge
    port = schemas[consumer].takes.get(argument)
    if port is None:
        return "denied", f"{argument} is the user's to state"
    given = {generic_path(path): kind for path, kind in schemas[producer].gives.items()}.get(field)
    if given is not None:
        return "denied", f"{argument} takes {port}, the field gives {given}"
    return "missed", f"{argument} takes {port}, no port at the field"
