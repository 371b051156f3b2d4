"""`--compat strings`: the reference's seven text columns, for its patched trainer and its reward.

    data_source, agent_name, ability            text
    prompt, candidate_tools                     JSON lists
    reward_model    {"ground_truth": [[{"name", "success"} …] per step], "execution_traces", "style": "tool_calling"}
    extra_info      {"step_dependency": [null or [int …] per step], "execution_traces", "workflow_id", …}

`execution_traces` has the gold call of each step. Its `result` is `{"response": ID}`: responses stand once each, by
id, in `<output>.responses.parquet`, for they are large, many rows share them and the reward reads arguments only.
"""
from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from data_synthesis.preprocess.ids import SeenIds
from data_synthesis.whole import whole_file
from environment.core.task import Task
from environment.session.prompt import opening_messages

STRINGS_SCHEMA = pa.schema(
    [
        (name, pa.string())
        for name in (
            "data_source", "agent_name", "ability", "prompt", "reward_model", "candidate_tools", "extra_info",
        )
    ]
)  # fmt: skip
"""The reference's columns."""
RESPONSES_SCHEMA = pa.schema([("id", pa.string()), ("response", pa.string())])
"""Columns of the responses: JSON text by id."""
_FLUSH = 64


def responses_file(output: Path) -> Path:
    """Return where the responses of a parquet stand."""
    return output.with_name(f"{output.stem}.responses.parquet")


class StringLayout:
    """Rows of text columns, and the responses beside them; a context manager around the conversion.

    The responses appear when the block ends well, and not at all otherwise.
    """

    schema = STRINGS_SCHEMA

    def __init__(self, output: Path, instructions: str | None = None) -> None:
        self._output = output
        self._instructions = instructions
        self._seen = SeenIds()
        self._waiting: list[dict[str, str]] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        part = self._stack.enter_context(whole_file(responses_file(self._output)))
        self._writer = self._stack.enter_context(pq.ParquetWriter(part, RESPONSES_SCHEMA))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._seen.close()
        if error is None:
            self._flush()
        self._stack.__exit__(kind, error, trace)

    def row(self, task: Task, index: int, record: Mapping[str, Any]) -> tuple[dict[str, str], int]:
        """Return a row and the characters of its prompt."""
        prompt = opening_messages(task, self._instructions)
        steps = record["steps"]
        offered = [step.get("candidate_tools") or list(task.tools) for step in steps]
        truth = [
            [{"name": name, "success": name == gold.function} for name in names]
            for names, gold in zip(offered, task.steps, strict=True)
        ]
        traces = [self._trace(step) for step in steps]
        extra = {
            "step_dependency": [list(step.get("depends_on") or ()) or None for step in steps],
            "execution_traces": traces,
            "workflow_id": record.get("workflow_id"),
            "workflow_pattern": [step.function for step in task.steps],
            "num_steps": len(steps),
            "metadata": record.get("metadata"),
        }
        row = {
            "data_source": "bfcl",
            "agent_name": "tool_agent",
            "ability": "tool_calling",
            "prompt": _json(prompt),
            "reward_model": _json({"ground_truth": truth, "execution_traces": traces, "style": "tool_calling"}),
            "candidate_tools": _json(sorted({name for names in offered for name in names})),
            "extra_info": _json(extra),
        }
        return row, sum(len(message["content"]) for message in prompt)

    def table(self, rows: list[dict[str, str]]) -> pa.Table:
        """Return rows as columns."""
        return pa.Table.from_pylist(rows, schema=self.schema)

    def _trace(self, step: Mapping[str, Any]) -> dict[str, Any]:
        outcome = step.get("execution_result") or {}
        if not outcome.get("success", True):
            return {}
        call = step["ground_truth"]
        held = {"response": self._store(_json(outcome.get("execution_result")))}
        one = {"function_name": call["function"], "arguments": call["arguments"], "result": held, "success": True}
        return {call["function"]: {"success": True, "traces": [one]}}

    def _store(self, text: str) -> str:
        identity = hashlib.sha256(text.encode()).hexdigest()[:16]
        if self._seen.first(identity, 0) is None:
            self._waiting.append({"id": identity, "response": text})
            if len(self._waiting) >= _FLUSH:
                self._flush()
        return identity

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._waiting, schema=RESPONSES_SCHEMA))
        self._waiting.clear()


def _json(value: object) -> str:
    return orjson.dumps(value).decode()

