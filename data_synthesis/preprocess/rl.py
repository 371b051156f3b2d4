"""Records → RL parquet: one row a task, native columns, the task itself as one JSON text.

verl feeds `prompt` to the chat template and reads `reward_model` and `extra_info` by key, so these are nested columns.
The gold chain stands in `extra_info.task`, without the stored responses: the world answers again in training.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from data_synthesis.preprocess.card import write_preprocess_card
from data_synthesis.preprocess.compat import StringLayout
from data_synthesis.preprocess.report import PreprocessReport
from data_synthesis.preprocess.stream import Wanted, convert_file
from environment.booking.schemas import load_schemas
from environment.core.errors import ConfigError, nearest_name
from environment.core.task import TASK_VERSION, Task
from environment.session.prompt import opening_messages

AGENT = "tool_rl_agent"
"""Name under which the agent loop is registered with verl."""
DATA_SOURCE = "booking_api"
"""Says which reward and which metrics a row belongs to."""
ABILITY = "tool_calling"
LAYOUTS = ("native", "selection", "strings")
"""`native`, the same with `extra_info.tool_selection` for verl's own tool agent, the reference's text columns."""
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_REWARD = [("style", pa.string()), ("ground_truth", pa.string())]
_EXTRA = [
    ("index", pa.int64()),
    ("task", pa.string()),
    ("task_id", pa.string()),
    ("workflow_id", pa.string()),
    ("num_steps", pa.int64()),
]
_SELECTION = ("tool_selection", pa.list_(pa.string()))


def _schema(extra: list[Any]) -> pa.Schema:
    return pa.schema(
        [
            ("data_source", pa.string()),
            ("agent_name", pa.string()),
            ("ability", pa.string()),
            ("prompt", pa.list_(_MESSAGE)),
            ("reward_model", pa.struct(_REWARD)),
            ("candidate_tools", pa.string()),
            ("extra_info", pa.struct(extra)),
        ]
    )


RL_SCHEMA = _schema(_EXTRA)
"""Columns of the RL parquet."""


def preprocess_rl(
    input: Path,
    output: Path,
    *,
    schemas_path: Path | None = None,
    filter_success: bool = True,
    max_tools: int | None = None,
    strict: bool = False,
    instructions: str | None = None,
    layout: str = "native",
) -> PreprocessReport:
    """Write the RL parquet of a record file, and its data card beside it.

    Args:
        input: `.jsonl` or `.pkl`, ours or the reference's.
        output: the parquet file.
        schemas_path: tools; None for those of the project.
        filter_success: leave out records whose `overall_success` is false.
        max_tools: at most so many tools on offer; the gold chain's always stay.
        strict: DataError, and no file, where any record is bad.
        instructions: system text; None for the project's, empty for none.
        layout: one of `LAYOUTS`.

    Raises:
        DataError: the file can't be read, or nothing in it can be used.
    """
    if layout not in LAYOUTS:
        near = nearest_name(layout, LAYOUTS)
        raise ConfigError("no such layout", where="--compat", got=layout, expected=", ".join(LAYOUTS), nearest=near)
    schemas, wanted = load_schemas(schemas_path), Wanted(filter_success, max_tools, strict)
    if layout == "strings":
        with StringLayout(output, instructions) as strings:
            report = convert_file(input, output, strings, schemas, wanted)
    else:
        report = convert_file(input, output, NativeLayout(instructions, layout == "selection"), schemas, wanted)
    write_preprocess_card("RL rows", report)
    return report


class NativeLayout:
    """Nested columns, built column by column."""

    def __init__(self, instructions: str | None = None, selection: bool = False) -> None:
        self._instructions = instructions
        self._extra = [*_EXTRA, _SELECTION] if selection else _EXTRA
        self.schema = _schema(self._extra)

    def row(self, task: Task, index: int, record: Mapping[str, Any]) -> tuple[tuple[Any, ...], int]:
        """Return the values of a row in flat form, and the characters of its prompt."""
        prompt = opening_messages(task, self._instructions)
        roles = tuple([message["role"] for message in prompt])
        contents = tuple([message["content"] for message in prompt])
        # Tuples of texts and numbers, which the garbage collector doesn't look into.
        row = (roles, contents, _task_text(task), task.tools, index, task.id, task.pattern, len(task.steps))
        return row, sum(map(len, contents))

    def table(self, rows: list[tuple[Any, ...]]) -> pa.Table:
        """Return rows as columns."""
        roles, contents, tasks, tools, indices, ids, patterns, lengths = zip(*rows, strict=True)
        task = pa.array(tasks, pa.string())
        extra = [pa.array(indices, pa.int64()), task, pa.array(ids, pa.string()), pa.array(patterns, pa.string())]
        extra.append(pa.array(lengths, pa.int64()))
        if len(self._extra) > len(extra):
            extra.append(pa.array(tools, _SELECTION[1]))
        columns = [
            *(_constant(value, len(rows)) for value in (DATA_SOURCE, AGENT, ABILITY)),
            _messages(roles, contents),
            pa.StructArray.from_arrays([_constant("rule", len(rows)), task], fields=list(pa.struct(_REWARD))),
            pa.array(list(map(_names, tools)), pa.string()),
            pa.StructArray.from_arrays(extra, fields=list(pa.struct(self._extra))),
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _task_text(task: Task) -> str:
    """Return what `task.to_json()` is as text; orjson walks dataclasses far faster than `asdict`."""
    return orjson.dumps(
        {
            "version": TASK_VERSION,
            "id": task.id,
            "query": task.query,
            "tools": task.tools,
            "steps": task.steps,
            "pattern": task.pattern,
            "domain": task.domain,
            "answer": task.answer,
        }
    ).decode()


def _constant(value: str, count: int) -> pa.Array:
    return pa.repeat(value, count)


@lru_cache(maxsize=4096)
def _names(tools: tuple[str, ...]) -> str:
    return orjson.dumps(tools).decode()


def _messages(roles: Sequence[tuple[str, ...]], contents: Sequence[tuple[str, ...]]) -> pa.Array:
    parts = [pa.array(list(chain.from_iterable(texts)), pa.string()) for texts in (roles, contents)]
    offsets = [0, *accumulate(map(len, roles))]
    values = pa.StructArray.from_arrays(parts, fields=list(_MESSAGE))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)
