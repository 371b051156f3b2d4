"""Any set of ours, of the reference or of a benchmark as a stream of `Sample`s: what is asked, what is called.

    records, tasks        {"query", "steps"}; RL parquet with the task in `extra_info` or `reward_model`
    single-turn rows      {"query", "tools", "answers"}; ToolACE's {"system", "conversations": [{"from", "value"}]}
    BFCL                  {"id", "question": [[{"role", "content"}]], "function", "ground_truth"}
    ComplexFuncBench      {"id", "functions", "conversations": [{"role", "content", "function_call"}]}
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_synthesis.records import PICKLE_SUFFIXES, read_records
from data_synthesis.single_turn.model import Drop
from data_synthesis.single_turn.rows import read_item
from data_synthesis.single_turn.source import read_rows
from environment.core.canonical import canonical_key, fold_text, json_key
from environment.core.errors import DataError
from environment.core.schema import ToolSchema

Named = tuple[str, Mapping[str, Any]]
"""A call: name of the tool, arguments."""


@dataclass(frozen=True)
class Sample:
    """One row of a set, in the form that is compared."""

    id: str
    query: str
    """Everything the user says."""
    pattern: tuple[str, ...]
    """Names of the tools called, in order; empty where the row holds no calls."""
    calls: frozenset[str]
    """Its calls in canonical form."""
    entities: frozenset[str]
    """Names, folded, that are both in the query and in a call: places, titles, people."""


def read_samples(path: Path, schemas: Mapping[str, ToolSchema] | None = None) -> Iterator[Sample]:
    """Yield the samples of a file.

    Args:
        path: `.jsonl`, `.json`, `.parquet` or `.pkl`.
        schemas: tools whose calls are compared in their canonical form; calls of others are compared as folded JSON.

    Raises:
        DataError: the file can't be read, or a row is of no known layout; it names the row.
    """
    for where, row in _rows(path):
        if isinstance(row, Drop):
            raise DataError(f"the row can't be read: {row}", where=where)
        try:
            yield _sample(row, where, schemas or {})
        except (KeyError, TypeError, AttributeError, ValueError, Drop) as error:
            layouts = "records, tasks, single-turn rows, BFCL or ComplexFuncBench"
            raise DataError(
                f"the row is of no known layout ({error})", where=where, got=", ".join(map(str, row)), expected=layouts
            ) from error


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any] | Drop]]:
    if path.suffix in PICKLE_SUFFIXES:
        return ((f"{path.name} record {number}", row) for number, row in enumerate(read_records(path), 1))
    return read_rows(path)


def _sample(row: Mapping[str, Any], where: str, schemas: Mapping[str, ToolSchema]) -> Sample:
    row = _task_in(row)
    query, calls = _content(row, where)
    identity = str(row.get("id") or row.get("workflow_id") or where)
    pattern = tuple(name for name, _ in calls)
    keys = frozenset(_key(name, arguments, schemas) for name, arguments in calls)
    return Sample(identity, query, pattern, keys, frozenset(_entities(query, calls, schemas)))


def _task_in(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the task that an RL row holds as JSON text, or the row itself."""
    for column, key in (("extra_info", "task"), ("reward_model", "ground_truth")):
        held = row.get(column)
        held = json.loads(held) if isinstance(held, str) else held
        text = held.get(key) if isinstance(held, dict) else None
        if isinstance(text, str):
            return json.loads(text)
    return row


def _content(row: Mapping[str, Any], where: str) -> tuple[str, list[Named]]:
    if "steps" in row:
        return row["query"], [_step(step) for step in row["steps"]]
    if "question" in row or "ground_truth" in row:
        return _asked(row.get("question", [])), list(_truth(row.get("ground_truth")))
    turns = row.get("conversations")
    if isinstance(turns, list) and turns and "role" in turns[0]:
        said = " ".join(str(t["content"]) for t in turns if t["role"] == "user")
        made = [call for t in turns if t["role"] == "assistant" for call in t.get("function_call") or ()]
        return said, [(call["name"], call.get("arguments") or {}) for call in made]
    item = read_item(row, where)
    return item.query, [(call.name, call.arguments) for call in item.calls]


def _step(step: Mapping[str, Any]) -> Named:
    call = step.get("ground_truth", step)
    return call["function"], call["arguments"]


def _asked(question: Any) -> str:
    """Return all that the user says in a BFCL question, whose turns are lists of messages."""
    if isinstance(question, str):
        return question
    turns = [turn if isinstance(turn, list) else [turn] for turn in question]
    return " ".join(str(m["content"]) for turn in turns for m in turn if m.get("role", "user") == "user")


def _truth(truth: Any) -> Iterator[Named]:
    """Yield the calls of a BFCL answer, with the first of the values each argument may have."""
    for call in truth if isinstance(truth, list) else ():
        for name, allowed in call.items() if isinstance(call, dict) else ():
            yield name, {argument: values[0] for argument, values in allowed.items() if values and values[0] != ""}


def _key(name: str, arguments: Mapping[str, Any], schemas: Mapping[str, ToolSchema]) -> str:
    schema = schemas.get(name)
    return f"{name} {canonical_key(schema, arguments) if schema else json_key(_folded(arguments))}"


def _folded(value: Any) -> Any:
    if isinstance(value, str):
        return fold_text(value)
    if isinstance(value, list):
        return [_folded(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _folded(item) for name, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _entities(query: str, calls: list[Named], schemas: Mapping[str, ToolSchema]) -> Iterator[str]:
    """Yield texts of calls that the query states and that name something: no choices, codes, dates or numbers."""
    said = f" {' '.join(_words(fold_text(query)))} "
    for name, arguments in calls:
        properties = schemas[name].properties if name in schemas else None
        for argument, value in arguments.items():
            free = properties is None or properties.get(argument, {}).get("x-free-text")
            if not free or not isinstance(value, str) or not any(c.isalpha() for c in value):
                continue
            folded = " ".join(_words(fold_text(value)))
            if len(folded) > 2 and f" {folded} " in said:
                yield folded


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()
