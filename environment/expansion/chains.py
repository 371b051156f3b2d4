"""Chains of calls to grow a world by: tools in order, and which argument comes from which earlier answer.

They come from the tools' ports (`chain_to`, one chain a tool) or from a file of the reference's workflow templates
(`read_workflows`). Mined templates lack links that the ports know, so a missing one is found by port.
"""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from environment.core.calls import JsonValue
from environment.core.errors import DataError
from environment.core.schema import ToolSchema

USER_PORTS = frozenset({"place_name", "date"})
"""Kinds of value that a person can state; all others come from earlier answers."""
POINT_PORTS = frozenset({"latitude", "longitude"})
"""Kinds that a person can state where nothing gives them: points on a map."""
ITEMS = 2
"""Items of a list argument such as `legs`."""


@dataclass(frozen=True)
class Link:
    """One argument taken from an earlier answer."""

    argument: str
    """Path into the arguments, `legs[0].fromId`."""
    step: int
    fields: tuple[str, ...]
    """Paths into the answer, the first that leads somewhere counts; the first index of a path moves when more than one
    value is wanted."""
    optional: bool = False
    """Whether a person can state the value where the answer has none."""


@dataclass(frozen=True)
class ChainStep:
    """One call of a chain."""

    tool: str
    links: tuple[Link, ...] = ()
    named: tuple[str, ...] = ()
    """Optional parameters to give a value always."""
    constants: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Arguments with a fixed value: ids that nothing in the chain gives."""

    @property
    def producers(self) -> tuple[int, ...]:
        """The steps it takes values from, in order."""
        return tuple(sorted({link.step for link in self.links}))


@dataclass(frozen=True)
class Chain:
    """Calls in order; a step takes only from steps before it."""

    id: str
    steps: tuple[ChainStep, ...]

    @property
    def ends(self) -> tuple[int, ...]:
        """The steps from which no other takes a value."""
        used = {link.step for step in self.steps for link in step.links}
        return tuple(i for i in range(len(self.steps)) if i not in used)

    def wanted(self, step: int) -> list[tuple[str, ...]]:
        """Return what later steps must find in the answer of a step: at least one path of each."""
        links = (link for later in self.steps for link in later.links)
        return [link.fields for link in links if link.step == step and not link.optional]


class ChainBuilder:
    """Builds the shortest chain to a tool from the ports of all tools."""

    def __init__(self, schemas: Mapping[str, ToolSchema]) -> None:
        self._schemas = schemas
        self._depths = depths(schemas)

    def chain_to(self, tool: str, optional: str | None = None) -> Chain:
        """Return a chain that ends with `tool`.

        Args:
            optional: an optional parameter that is to come from an earlier answer too.

        Raises:
            DataError: no tool gives a value that is needed.
        """
        steps: list[ChainStep] = []
        self._append(steps, tool, optional)
        return Chain(f"{tool}+{optional}" if optional else tool, tuple(steps))

    def all_chains(self) -> Iterator[Chain]:
        """Yield a chain for every tool, and one more for every optional parameter that earlier answers give."""
        for tool, schema in self._schemas.items():
            yield self.chain_to(tool)
            for argument, port in schema.takes.items():
                name = argument.split("[")[0]
                if name not in schema.required and port not in USER_PORTS and self._producers(port, tool):
                    yield self.chain_to(tool, name)

    def _append(self, steps: list[ChainStep], tool: str, optional: str | None = None) -> int:
        schema, links, made = self._schemas[tool], list[Link](), dict[tuple[str, int], int]()
        seen: dict[str, int] = {}
        for argument, port in needed_ports(schema, optional):
            rank = seen[port] = seen.get(port, 0) + 1  # a second value of one kind comes from a second look-up
            producer, path = self._producer(port, tool)
            if (producer, rank) not in made:
                made[producer, rank] = self._append(steps, producer)
            links.append(Link(argument, made[producer, rank], (first_item(path),)))
        steps.append(ChainStep(tool, tuple(links), (optional,) if optional else ()))
        return len(steps) - 1

    def _producer(self, port: str, tool: str) -> tuple[str, str]:
        found = self._producers(port, tool)
        if not found:
            raise DataError("no tool gives a value that is needed", where=tool, got=port, expected="a port in `gives`")
        return min(found, key=lambda one: self._rank(*one, tool))

    def _producers(self, port: str, tool: str) -> list[tuple[str, str]]:
        return [
            (name, path)
            for name, schema in self._schemas.items()
            for path, given in schema.gives.items()
            if given == port and name != tool and "=" not in path and name in self._depths
        ]

    def _rank(self, producer: str, path: str, tool: str) -> tuple[bool, int, bool]:
        schema = self._schemas[producer]
        return not is_certain(schema, path), self._depths[producer], schema.group != self._schemas[tool].group


def is_certain(schema: ToolSchema, path: str) -> bool:
    """Return whether every answer of a tool has the field: the shape of its answers requires it all the way."""
    here: Any = schema.response
    for part in _PLACE.findall(path.replace("[]", "")):
        while "items" in here:
            here = here["items"]
        if part not in here.get("required", ()):
            return False
        here = here.get("properties", {}).get(part, {})
    return True


def depths(schemas: Mapping[str, ToolSchema]) -> dict[str, int]:
    """Return tool → how many calls must come before it; tools whose ids nothing gives are left out."""
    known: dict[str, int] = {}
    while True:
        found = {tool: _depth(schema, known, schemas) for tool, schema in schemas.items() if tool not in known}
        new = {tool: depth for tool, depth in found.items() if depth is not None}
        if not new:
            return known
        known |= new


def _depth(schema: ToolSchema, known: Mapping[str, int], schemas: Mapping[str, ToolSchema]) -> int | None:
    depth = 0
    for _, port in needed_ports(schema):
        givers = [known[name] for name in known if port in schemas[name].gives.values()]
        if not givers:
            return None
        depth = max(depth, 1 + min(givers))
    return depth


def needed_ports(schema: ToolSchema, optional: str | None = None) -> Iterator[tuple[str, str]]:
    """Yield (argument path, port) of what a call needs from earlier answers; lists have `ITEMS` items."""
    wanted = {*schema.required, optional}
    for argument, port in schema.takes.items():
        if argument.split("[")[0] not in wanted or port in USER_PORTS:
            continue
        if "[]" in argument:
            yield from ((argument.replace("[]", f"[{i}]", 1), port) for i in range(ITEMS))
        else:
            yield argument, port


def complete(steps: Sequence[ChainStep], schemas: Mapping[str, ToolSchema]) -> tuple[ChainStep, ...]:
    """Return the steps with the links that are missing, found by port in the steps before.

    The n-th argument of one kind takes from the n-th step that gives it, or from the last where there are fewer. An
    argument that nothing gives keeps its constant.
    """
    out: list[ChainStep] = []
    for number, step in enumerate(steps):
        links, seen, constants = list(step.links), dict[str, int](), dict(step.constants)
        linked = {link.argument for link in step.links}
        for argument, port in needed_ports(schemas[step.tool]):
            giving = _giving(steps[:number], port, schemas)
            rank = seen[port] = seen.get(port, 0) + 1
            if argument not in linked and giving:
                before, path = giving[min(rank, len(giving)) - 1]
                links.append(Link(argument, before, (first_item(path),)))
                constants.pop(argument.split("[")[0], None)
        out.append(ChainStep(step.tool, tuple(links), step.named, constants))
    return tuple(out)


def _giving(steps: Sequence[ChainStep], port: str, schemas: Mapping[str, ToolSchema]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for number, step in enumerate(steps):
        schema = schemas[step.tool]
        paths = [path for path, given in schema.gives.items() if given == port and "=" not in path]
        paths.sort(key=lambda path: not is_certain(schema, path))
        found += [(number, path) for path in paths[:1]]
    return found


def first_item(path: str) -> str:
    """Return a path that takes the first item of every list."""
    return _ANY_INDEX.sub("[0]", path)


_ANY_INDEX = re.compile(r"\[\d*\]")
_PLACE = re.compile(r"[^.\[\]]+|\[\d+\]")
_FIRST_INDEX = re.compile(r"\[(\d+)\]")


def shifted(path: str, by: int) -> str | None:
    """Return a path whose first index is moved on; None where it has no index to move."""
    if by == 0:
        return path
    if _FIRST_INDEX.search(path) is None:
        return None
    return _FIRST_INDEX.sub(lambda found: f"[{int(found[1]) + by}]", path, count=1)
