"""Leaving out rows that are too long for the model's window, and saying how many."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from environment.booking.schemas import load_schemas
from environment.core.errors import DataError
from environment.core.task import Task
from environment.session.prompt import tool_functions
from training.launch.prompt_length import Count

Length = Callable[[dict[str, Any]], int]
"""Tokens of one parquet row."""


def rl_length(count: Count, schemas_path: Path | None) -> Length:
    """Return the length of an RL row's prompt, tools included, up to where the model begins."""
    schemas = load_schemas(schemas_path)

    def length(row: dict[str, Any]) -> int:
        task = Task.from_json(json.loads(row["extra_info"]["task"]))
        return count(row["prompt"], tool_functions(task, schemas), True)

    return length


def sft_length(count: Count) -> Length:
    """Return the length of a whole SFT dialogue."""
    return lambda row: count(json.loads(row["messages"]), json.loads(row["tools"]), False)


def keep_fitting(file: Path, length: Length, limit: int, least: int, key: str) -> dict[str, object]:
    """Rewrite a parquet file with the rows of at most `limit` tokens and return the counts.

    Raises:
        DataError: fewer than `least` rows fit.
    """
    table = pq.read_table(file)
    lengths = [length(row) for row in table.to_pylist()]
    kept = sum(n <= limit for n in lengths)
    facts = {"file": file.name, "rows": len(lengths), "kept": kept, "limit": limit, "longest": max(lengths, default=0)}
    if kept < least:
        raise DataError(
            f"{kept} of {len(lengths)} rows fit into {limit} tokens",
            where=file.name,
            expected=f"at least {least}",
            got=f"lengths up to {facts['longest']}",
            fix=f"raise {key}, or offer fewer tools a row (tool_rl.preprocess.max_tools)",
        )
    if kept < len(lengths):
        half = file.with_suffix(".part")
        pq.write_table(table.filter(pa.array([n <= limit for n in lengths])), half)
        half.replace(file)
    return facts
