"""What others have recorded, as one stream of calls with their answers.

    reference cache      {tool: [{arguments, response}, …]}, one JSON object, of any size
    ComplexFuncBench     JSON Lines with `conversations`: the calls of a turn, then as many observations
    training records     JSON Lines with `steps[].execution_result`

A row that can't be used becomes `Unusable` and names its place; the rows around it are not lost.
"""
from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from environment.cache.json_stream import read_lists
from environment.core.calls import JsonValue


@dataclass(frozen=True)
class Recorded:
    """One call and what the service said."""

    tool: str
    arguments: dict[str, JsonValue]
    response: JsonValue
    source: str
    """File and record, kept with the entry; the finer place is not, so that a large file has few sources."""


@dataclass(frozen=True)
class Unusable:
    """A row without a call and an answer."""

    reason: str
    place: str


Row = Recorded | Unusable
Object = Mapping[str, Any]


def read_source(path: Path) -> Iterator[Row]:
    """Yield the calls of a file in one of the known formats: `.json` is a cache, anything else lines.

    Raises:
        DataError: the file has none of the formats, or breaks off in the middle (what came before has been yielded).
    """
    if path.suffix == ".json":
        return _reference_cache(path)
    return _lines(path)


def record_rows(record: Object, source: str) -> Iterator[Row]:
    """Yield the steps of a training record that hold a response."""
    for number, step in enumerate(_list(record.get("steps"))):
        held = _object(_object(step).get("execution_result"))
        call = held if "function" in held else _object(_object(step).get("ground_truth"))
        if not held:
            yield Unusable("no response stored", f"{source} step {number}")
            continue
        yield _row(call.get("function"), call.get("arguments"), held.get("execution_result"), source, f"step {number}")


def _reference_cache(path: Path) -> Iterator[Row]:
    for item in read_lists(path):
        source, place = f"{path.name} {item.name}", f"item {item.number}"
        held = _object(item.value)
        if "response" in held:
            yield _row(item.name, held.get("arguments"), held["response"], source, place)
        else:
            yield Unusable("not an object with arguments and response", f"{source} {place}")


def _lines(path: Path) -> Iterator[Row]:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield from _line(line, f"{path.name} line {number}")


def _line(line: bytes, source: str) -> Iterator[Row]:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        yield Unusable("broken JSON", f"{source}: {error}")
        return
    yield from object_rows(row, source)


def object_rows(row: Any, source: str) -> Iterator[Row]:
    """Yield the calls of a ComplexFuncBench entry or a training record that was read already."""
    reader = _reader_of(row)
    if reader is None:
        yield Unusable("neither a ComplexFuncBench entry nor a training record", source)
        return
    name = str(row.get("id") or row.get("workflow_id") or "")
    yield from reader(row, f"{source} {name}".strip())


def _reader_of(row: Any) -> Callable[[Object, str], Iterator[Row]] | None:
    if not isinstance(row, dict):
        return None
    known = cast("dict[str, Any]", row)
    if isinstance(known.get("conversations"), list):
        return _conversation
    return record_rows if isinstance(known.get("steps"), list) else None


def _conversation(row: Object, source: str) -> Iterator[Row]:
    """Pair the calls of each assistant turn with the observations of the next turn, one for one."""
    calls: list[Any] = []
    for number, turn in enumerate(_list(row["conversations"])):
        said = _object(turn)
        if said.get("role") == "assistant":
            calls = _list(said.get("function_call"))
        elif said.get("role") == "observation":
            found = _list(said.get("content"))
            if len(found) != len(calls):
                yield Unusable(f"{len(calls)} calls but {len(found)} observations", f"{source} turn {number}")
            else:
                pairs = zip(calls, found, strict=True)
                yield from (_paired(call, seen, source, f"turn {number}") for call, seen in pairs)
            calls = []


def _paired(call: Any, response: Any, source: str, place: str) -> Row:
    if not isinstance(call, dict):
        return Unusable("a call that is no object", f"{source} {place}")
    held = cast("dict[str, Any]", call)
    return _row(held.get("name"), held.get("arguments"), response, source, place)


def _row(tool: Any, arguments: Any, response: Any, source: str, place: str) -> Row:
    if not isinstance(tool, str):
        return Unusable("a call without a name", f"{source} {place}")
    if arguments is not None and not isinstance(arguments, dict):
        return Unusable("arguments that are no object", f"{source} {place}")
    if response in ("", None):
        return Unusable("no response stored", f"{source} {place}")
    return Recorded(tool, dict(cast("dict[str, JsonValue]", arguments or {})), response, source)


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
