"""Records → RL parquet: one row a task, native columns, the task itself as one JSON text.

verl feeds `prompt` to the chat template and reads `reward_model` and `extra_info` by key, so these are nested columns.
The gold chain stands in `extra_info.task`, without the stored responses: the world answers again in training.
"""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from data_synthesis.preprocess.report import PreprocessReport
from data_synthesis.preprocess.stream import convert_file
from environment.booking.schemas import load_schemas
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.session.prompt import opening_messages

AGENT = "tool_rl_agent"
"""Name under which the agent loop is registered with verl."""
DATA_SOURCE = "booking_api"
"""Says which reward and which metrics a row belongs to."""
_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
RL_SCHEMA = pa.schema(
    [
        ("data_source", pa.string()),
        ("agent_name", pa.string()),
        ("ability", pa.string()),
        ("prompt", pa.list_(_MESSAGE)),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        ("candidate_tools", pa.string()),
        (
            "extra_info",
            pa.struct(
                [
                    ("index", pa.int64()),
                    ("task", pa.string()),
                    ("task_id", pa.string()),
                    ("workflow_id", pa.string()),
                    ("num_steps", pa.int64()),
                ]
            ),
        ),
    ]
)
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
) -> PreprocessReport:
    """Write the RL parquet of a record file.

    Args:
        input: `.jsonl` or `.pkl`, ours or the reference's.
        output: the parquet file.
        schemas_path: tools; None for those of the project.
        filter_success: leave out records whose `overall_success` is false.
        max_tools: at most so many tools on offer; the gold chain's always stay.
        strict: DataError, and no file, where any record is bad.
        instructions: system text; None for the project's, empty for none.

    Raises:
        DataError: the file can't be read, or nothing in it can be used.
    """
    schemas = load_schemas(schemas_path)

    def convert(task: Task, index: int) -> tuple[dict[str, Any], int]:
        return rl_row(task, index, schemas, instructions)

    return convert_file(
        input, output, RL_SCHEMA, convert, schemas, filter_success=filter_success, max_tools=max_tools, strict=strict
    )


def rl_row(
    task: Task, index: int, schemas: Mapping[str, ToolSchema], instructions: str | None = None
) -> tuple[dict[str, Any], int]:
    """Return the row of a task and the characters of its prompt."""
    prompt = opening_messages(task, instructions)
    text = orjson.dumps(task.to_json()).decode()
    row = {
        "data_source": DATA_SOURCE,
        "agent_name": AGENT,
        "ability": "tool_calling",
        "prompt": prompt,
        "reward_model": {"style": "rule", "ground_truth": text},
        "candidate_tools": orjson.dumps(list(task.tools)).decode(),
        "extra_info": {
            "index": index,
            "task": text,
            "task_id": task.id,
            "workflow_id": task.pattern,
            "num_steps": len(task.steps),
        },
    }
    return row, sum(len(message["content"]) for message in prompt)
