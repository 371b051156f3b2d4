"""Records → SFT parquet: the gold chain of each task as a dialogue, ending in an answer.

The messages are made by `environment.session.prompt.gold_messages`, the same code that shows a rollout its tools and
observations. Messages and tools are JSON text: Arrow would merge the tools' parameters into one struct of nulls.
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from data_synthesis.answers import FALLBACK
from data_synthesis.preprocess.card import write_preprocess_card
from data_synthesis.preprocess.report import PreprocessReport
from data_synthesis.preprocess.stream import Wanted, convert_file
from data_synthesis.records import write_records
from environment.booking.schemas import load_schemas
from environment.core.task import Task
from environment.server.opening import open_world
from environment.session.observation import ObservationCut, TokenCounter
from environment.session.prompt import gold_messages, tool_functions
from environment.session.world import World

SFT_SCHEMA = pa.schema(
    [("messages", pa.string()), ("tools", pa.string()), ("task_id", pa.string()), ("num_steps", pa.int64())]
)
"""Columns of the SFT parquet."""


def preprocess_sft(
    input: Path,
    world_path: Path,
    output: Path,
    observation_limit: int | None = None,
    count: TokenCounter | None = None,
    *,
    observation_chars: int | None = None,
    schemas_path: Path | None = None,
    filter_success: bool = True,
    max_tools: int | None = None,
    strict: bool = False,
    instructions: str | None = None,
    output_jsonl: Path | None = None,
) -> PreprocessReport:
    """Write the SFT parquet of a record file, and its data card beside it.

    Args:
        input: `.jsonl` or `.pkl`, ours or the reference's.
        world_path: the world that answers the gold calls: a recorded one, or a reference to a served one.
        output: the parquet file.
        observation_limit: tokens of an observation at most; the same as in the rollouts.
        count: counts tokens; an estimate by characters without it.
        observation_chars: the same limit in characters.
        schemas_path: tools; None for those of the project.
        filter_success: leave out records whose `overall_success` is false.
        max_tools: at most so many tools on offer; the gold chain's always stay.
        strict: DataError, and no file, where any record is bad.
        instructions: system text; None for the project's, empty for none.
        output_jsonl: also write the rows here, as JSON Lines with messages and tools as values.

    Raises:
        DataError: the file can't be read, or nothing in it can be used.
    """
    schemas = load_schemas(schemas_path)
    cut = ObservationCut(observation_limit, observation_chars, count)
    with open_world(world_path, schemas) as world:
        layout = SftLayout(world, cut, instructions)
        report = convert_file(input, output, layout, schemas, Wanted(filter_success, max_tools, strict))
    write_preprocess_card("SFT dialogues", report)
    if output_jsonl is not None:
        _as_jsonl(output, output_jsonl)
    return report


class SftLayout:
    """One dialogue a row."""

    schema = SFT_SCHEMA

    def __init__(self, world: World, cut: ObservationCut, instructions: str | None = None) -> None:
        self._world = world
        self._cut = cut
        self._instructions = instructions

    def row(self, task: Task, index: int, record: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        """Return a row and the characters of its dialogue; a task without an answer gets a general one."""
        closed = task if task.answer else replace(task, answer=FALLBACK)
        messages = gold_messages(closed, self._world, self._cut, self._instructions)
        tools = tool_functions(task, self._world.schemas)
        row = {
            "messages": orjson.dumps(messages).decode(),
            "tools": orjson.dumps(tools).decode(),
            "task_id": task.id,
            "num_steps": len(task.steps),
        }
        return row, len(row["messages"])

    def table(self, rows: list[dict[str, Any]]) -> pa.Table:
        """Return rows as columns."""
        return pa.Table.from_pylist(rows, schema=self.schema)


def _as_jsonl(source: Path, output: Path) -> None:
    def rows() -> Iterator[dict[str, Any]]:
        for batch in pq.ParquetFile(source).iter_batches():
            for row in batch.to_pylist():
                yield {**row, "messages": orjson.loads(row["messages"]), "tools": orjson.loads(row["tools"])}

    write_records(output, rows())
