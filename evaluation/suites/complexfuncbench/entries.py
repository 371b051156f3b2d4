"""Entries of ComplexFuncBench, read from its own file: one JSON object a line with `id`, `functions`, `conversations`.

    user ─► assistant {function_call: [{name, arguments}, …]} ─► observation {content: [answer, …]} ─► … ─► assistant

A line that can't be used is an error that names it, never an item that is easier than it looks: an entry without a gold
call has no ground truth, so it can't be answered right or wrong.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environment.booking.schemas import load_schemas, schema_of
from environment.core.calls import JsonValue
from environment.core.canonical import canonical_arguments, json_key
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task

SHOWN = 5
"""Bad lines that an error names; the rest is counted."""


class _Call(BaseModel):
    model_config = ConfigDict(extra="ignore")
    name: Annotated[str, Field(min_length=1)]
    arguments: dict[str, Any] = Field(default_factory=dict)


class _Turn(BaseModel):
    model_config = ConfigDict(extra="ignore")
    role: Literal["system", "user", "assistant", "observation"]
    content: Any = None
    function_call: list[_Call] | None = None


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore")
    id: Annotated[str, Field(min_length=1)]
    functions: Annotated[list[dict[str, Any]], Field(min_length=1)]
    conversations: Annotated[list[_Turn], Field(min_length=2)]


@dataclass(frozen=True)
class GoldCall:
    """One call of the gold chain and what the service said to it."""

    name: str
    arguments: Mapping[str, JsonValue]
    turn: int
    """Gold turn, from 0."""
    packed: bytes | None
    """The answer as JSON text, which takes a tenth of the memory of its objects; None where the file has none."""

    @property
    def response(self) -> JsonValue:
        """The recorded answer, fresh each time; None where the file has none."""
        return None if self.packed is None else orjson.loads(self.packed)


@dataclass(frozen=True)
class Entry:
    """One entry."""

    id: str
    query: str
    functions: Sequence[Mapping[str, Any]]
    """Tools as the file has them; what the model is shown."""
    schemas: Mapping[str, ToolSchema]
    """The same by name for comparison: the project's own schema of a tool, where it knows every parameter."""
    calls: Sequence[GoldCall]
    turns: int
    """Gold turns that hold calls."""
    answer: str = ""

    @property
    def domain(self) -> str:
        """The beginning of the id, as in `Hotels-12`; the whole id where it has no number."""
        head, _, number = self.id.rpartition("-")
        return head if head and number.isdigit() else self.id

    def canonical(self, name: str, arguments: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Return arguments in the normal form of their tool; of an unknown tool as they are."""
        schema = self.schemas.get(name)
        return dict(arguments) if schema is None else canonical_arguments(schema, arguments)

    def key(self, name: str, arguments: Mapping[str, JsonValue]) -> tuple[str, str]:
        """Return the identity of a call: equal for equal calls."""
        return name, json_key(self.canonical(name, arguments))

    def turn(self, number: int) -> list[GoldCall]:
        """Return the gold calls of one turn."""
        return [call for call in self.calls if call.turn == number]

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools as OpenAI function objects."""
        return [{"type": "function", "function": dict(f)} for f in self.functions]

    def task(self) -> Task:
        """Return the entry as a task of the episode loop, without edges: the file doesn't say what feeds what."""
        steps = tuple(GoldStep(c.name, dict(c.arguments)) for c in self.calls)
        return Task(self.id, self.query, tuple(self.schemas), steps, domain=self.domain, answer=self.answer)


def read_entries(path: Path, limit: int | None = None) -> list[Entry]:
    """Return the entries of a file in order, the first `limit` of them.

    Raises:
        DataError: no file, no entry, or lines that can't be used; the first of those are named, all are counted.
    """
    own = load_schemas()
    entries: dict[str, Entry] = {}
    broken: list[str] = []
    for number, line in _lines(path):
        if limit is not None and len(entries) >= limit:
            break
        try:
            entry = _entry(line, f"line {number}", own)
            if entry.id in entries:
                raise DataError("the same id twice", where=f"line {number}", got=entry.id)
            entries[entry.id] = entry
        except DataError as error:
            broken.append(str(error))
    if broken:
        shown = "\n".join(broken[:SHOWN]) + (f"\nand {len(broken) - SHOWN} more" if len(broken) > SHOWN else "")
        raise DataError(f"{len(broken)} entries can't be used\n{shown}", where=str(path), fix="mend or leave them out")
    if not entries:
        raise DataError("no entries", where=str(path), expected="ComplexFuncBench: one JSON object a line")
    return list(entries.values())


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
    except OSError as error:
        fix = "give the ComplexFuncBench file with --data, or make one with `tool-rl data to-cfb`"
        raise DataError(f"the file can't be read ({error.strerror or error})", where=str(path), fix=fix) from error


def _entry(line: bytes, where: str, own: Mapping[str, ToolSchema]) -> Entry:
    try:
        read = _Line.model_validate(json.loads(line.removeprefix(b"\xef\xbb\xbf")))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole line"
        raise DataError(f"{place}: {first['msg']}", where=where, got=first.get("input")) from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}", where=where, got=line[:80]) from error
    where = f"{where}, entry {read.id}"
    schemas = dict(_schema(f, where, own) for f in read.functions)
    calls, turns = _gold(read.conversations)
    if not calls:
        raise DataError("no gold call, so nothing could be right or wrong", where=where)
    unknown = sorted({c.name for c in calls} - set(schemas))
    if unknown:
        raise DataError("a gold call of a tool that isn't on offer", where=where, got=unknown[0])
    query = next((t.content for t in read.conversations if t.role == "user"), None)
    if not isinstance(query, str) or not query.strip():
        raise DataError("no user turn", where=where, expected="a first turn with role user and text")
    last = read.conversations[-1]
    answer = last.content if last.role == "assistant" and isinstance(last.content, str) else ""
    return Entry(read.id, query, tuple(read.functions), schemas, calls, turns, answer)


def _gold(conversation: Sequence[_Turn]) -> tuple[tuple[GoldCall, ...], int]:
    """Return the gold calls with their observations, and how many turns hold any."""
    found: list[GoldCall] = []
    turns = 0
    for turn, after in zip(conversation, [*conversation[1:], None], strict=True):
        if turn.role != "assistant" or not turn.function_call:
            continue
        seen = after.content if after is not None and after.role == "observation" else None
        answers = seen if isinstance(seen, list) and len(seen) == len(turn.function_call) else []
        for position, call in enumerate(turn.function_call):
            answer = answers[position] if answers else None
            packed = None if answer in (None, "") else orjson.dumps(answer)
            found.append(GoldCall(call.name, call.arguments, turns, packed))
        turns += 1
    return tuple(found), turns


def _schema(function: Mapping[str, Any], where: str, own: Mapping[str, ToolSchema]) -> tuple[str, ToolSchema]:
    """Return the schema to compare by: our own where it covers the entry's, for it knows formats and defaults."""
    stated = schema_of(function, where)
    ours = own.get(stated.name)
    covers = ours is not None and set(stated.properties) <= set(ours.properties)
    return stated.name, ours if ours is not None and covers else stated
