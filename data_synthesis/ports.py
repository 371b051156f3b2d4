"""Which argument depends on which earlier step, by ports: the kind of value a parameter takes and a field gives.

Linking by equal values alone invents edges (`adults` from a count in some filter) and misses those whose two ends are
typed differently (a number here, its text there) or lie inside a list of legs. Here an edge needs the port at both
ends. Where the answers are at hand the value must be equal in the parameter's typed normal form too; where they are
not, an edge that someone else claims is kept if its ports fit, and an identifier without one is linked to the step that
its sister arguments come from, to the look-up whose query its letters begin, or to the next look-up not used yet.

Names and dates are what a user may say himself: they are linked only where the value is not one he said before.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from data_synthesis.joins import parameter_schema
from data_synthesis.paths import generic, leaves
from environment.core.calls import JsonValue
from environment.core.canonical import canonical_value, fold_text
from environment.core.schema import ToolSchema

STATED = frozenset({"place_name", "date"})
"""Ports of values that a user may say himself."""
ALSO = {"hotel_id": "hotel_dest_id"}
"""Port → another port whose values may pass for it: a destination that is itself a hotel."""
_INDEX = re.compile(r"\[\d+\]")
_WHICH = re.compile(r"\[\w+=\w+\]")
_CODE = re.compile(r"([A-Z]{3})\.(?:AIRPORT|CITY)")


@dataclass(frozen=True)
class Link:
    """Where an argument comes from."""

    producer: int
    field: str
    """Path in the producer's answer."""


@dataclass(frozen=True)
class Called:
    """One call of a workflow, with what is known of it."""

    tool: str
    arguments: Mapping[str, JsonValue]
    claimed: Mapping[str, Link] = field(default_factory=dict[str, Link])
    """Argument path → the source that equal values suggest."""
    answer: JsonValue = None
    """What was answered; None where it isn't known."""
    level: int | None = None
    """Number of the turn it was called in; calls of one turn ran in parallel."""

    def given(self) -> dict[str, JsonValue]:
        """Return argument path → value for every single value."""
        return dict(leaves(dict(self.arguments)))


@dataclass(frozen=True)
class EdgeCount:
    """How the edges by value compare with those by ports."""

    kept: int = 0
    """Both have them."""
    invented: int = 0
    """By value only: no port, or a value the user said himself."""
    missed: int = 0
    """By ports only."""

    def __add__(self, other: EdgeCount) -> EdgeCount:
        return EdgeCount(self.kept + other.kept, self.invented + other.invented, self.missed + other.missed)


def link(calls: Sequence[Called], schemas: Mapping[str, ToolSchema]) -> list[dict[str, Link]]:
    """Return, for every call, argument path → link; an argument that isn't there is the user's."""
    linked: list[dict[str, Link]] = []
    for number, call in enumerate(calls):
        links: dict[str, Link] = {}
        for path, value in call.given().items():
            found = _link(number, path, value, calls, schemas, [*linked, links])
            if found is not None:
                links[path] = found
        linked.append(links)
    return linked


def count(calls: Sequence[Called], linked: Sequence[Mapping[str, Link]]) -> EdgeCount:
    """Return how many claimed edges stay, how many were invented and how many were missed."""
    total = EdgeCount()
    for call, links in zip(calls, linked, strict=True):
        kept = sum(path in links and links[path].producer == claim.producer for path, claim in call.claimed.items())
        total += EdgeCount(kept, len(call.claimed) - kept, len(links) - kept)
    return total


def gives(schema: ToolSchema, path: str) -> str | None:
    """Return the port of a field, found also under `data` and where an answer nests it otherwise."""
    shape = generic(path)
    for known, port in schema.gives.items():
        if shape in (known, known.removeprefix("data").removeprefix(".")):
            return port
    return None


def _link(
    number: int,
    path: str,
    value: JsonValue,
    calls: Sequence[Called],
    schemas: Mapping[str, ToolSchema],
    linked: Sequence[Mapping[str, Link]],
) -> Link | None:
    port = schemas[calls[number].tool].takes.get(generic(path)) if calls[number].tool in schemas else None
    if port is None:
        return None
    producers = [j for j in range(number) if calls[j].tool in schemas and port in _always(schemas[calls[j].tool])]
    if port in STATED and _said(path, value, calls[:number], schemas):
        return None
    if any(calls[j].answer is not None for j in producers):
        return _by_value(number, path, value, port, producers, calls, schemas)
    claim = calls[number].claimed.get(path)
    given = gives(schemas[calls[claim.producer].tool], claim.field) if claim is not None else None
    if given is not None and given in (port, ALSO.get(port)):
        return claim
    if port in STATED or not producers:
        return None
    producer = _likely(path, value, producers, calls, linked)
    return Link(producer, _field(schemas[calls[producer].tool], port, linked[-1], producer))


def _always(schema: ToolSchema) -> set[str]:
    """Return the ports an answer gives whatever it holds; `data[search_type=hotel].dest_id` is none."""
    return {port for path, port in schema.gives.items() if not _WHICH.search(path)}


def _by_value(
    number: int,
    path: str,
    value: JsonValue,
    port: str,
    producers: Sequence[int],
    calls: Sequence[Called],
    schemas: Mapping[str, ToolSchema],
) -> Link | None:
    """Return the latest field of the port that holds the value in the parameter's normal form."""
    parameter = dict(parameter_schema(schemas[calls[number].tool], path))
    wanted = canonical_value(parameter, value)
    for j in reversed(producers):
        for place, found in leaves(calls[j].answer):
            if gives(schemas[calls[j].tool], place) == port and canonical_value(parameter, found) == wanted:
                return Link(j, place)
    return None


def _said(path: str, value: JsonValue, before: Sequence[Called], schemas: Mapping[str, ToolSchema]) -> bool:
    """Return whether an earlier call gave the same value for a like argument, without a source of its own."""
    return any(_same(value, other) for call in before for other in _stated_values(call, schemas)) or not path


def _stated_values(call: Called, schemas: Mapping[str, ToolSchema]) -> Iterator[JsonValue]:
    for path, value in call.given().items():
        schema = schemas.get(call.tool)
        if schema is not None and schema.takes.get(generic(path)) in STATED and path not in call.claimed:
            yield value


def _same(value: JsonValue, other: JsonValue) -> bool:
    return fold_text(str(value)) == fold_text(str(other))


def _likely(
    path: str, value: JsonValue, producers: Sequence[int], calls: Sequence[Called], linked: Sequence[Mapping[str, Link]]
) -> int:
    """Return the producer that an identifier without a claimed one most likely came from."""
    call, links = calls[len(linked) - 1], linked[-1]
    sisters = [found.producer for name, found in links.items() if _family(name) == _family(path)]
    sisters += [claim.producer for name, claim in call.claimed.items() if _family(name) == _family(path)]
    code = _CODE.fullmatch(str(value))
    begins = [j for j in producers if code is not None and _letters(calls[j])[:3] == code[1].lower()]
    given = call.given()
    same = [found.producer for name, found in links.items() if _same(given.get(name), value)]
    used = {found.producer for earlier in linked for found in earlier.values()}
    free = [j for j in producers if j not in used]
    new = [j for j in producers if j not in {found.producer for found in links.values()}]
    return next(j for j in [*sisters, *begins, *same, *free, *new, *producers] if j in producers)


def _letters(call: Called) -> str:
    return fold_text(str(call.arguments.get("query", ""))).replace(" ", "")


def _family(path: str) -> str:
    """Return what arguments that go together have in common: the halves of a point, id and type of a destination."""
    return re.sub(r"latitude|longitude", "point", re.sub(r"dest_id|search_type|dest_type", "destination", path))


def _field(schema: ToolSchema, port: str, links: Mapping[str, Link], producer: int) -> str:
    """Return the first field of a port, with the index that a sister argument takes from the same producer."""
    shape = next(_WHICH.sub("[]", path) for path, given in schema.gives.items() if given == port)
    indices = (_INDEX.search(found.field) for found in links.values() if found.producer == producer)
    index = next((match[0] for match in indices if match), "[0]")
    return shape.replace("[]", index, 1).replace("[]", "[0]")
