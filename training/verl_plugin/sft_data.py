"""Warm-start rows for verl's SFT trainer (`data.custom_cls`), rendered exactly as a rollout sees them.

verl's own dataset wants `tools` as nested columns, which Arrow merges into one struct with dozens of nulls a tool; ours
reads JSON text. The dialogue is rendered once, whole; the loss mask is 1 on what the assistant writes, its end mark
included, and 0 on everything the template or the world adds, so SFT and RL train the same positions.
"""
from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import Dataset

from environment.core.errors import DataError


class SftRows(Dataset[dict[str, torch.Tensor]]):
    """Rows of a parquet with the text columns `messages` and `tools`."""

    def __init__(
        self,
        parquet_files: str | Sequence[str],
        tokenizer: Any,
        config: Any,
        processor: Any = None,
        max_samples: int = -1,
    ) -> None:
        """Read all rows. `config.max_length` bounds a row's tokens: a longer one is an error that names it."""
        import pyarrow.parquet as pq

        files = [parquet_files] if isinstance(parquet_files, str) else list(parquet_files)
        rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        self._rows = rows if max_samples < 0 else rows[:max_samples]
        self._tokenizer = tokenizer
        self._max_length = int(config.get("max_length", 4096))

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        row = self._rows[index]
        ids, mask = render(self._tokenizer, json.loads(row["messages"]), json.loads(row["tools"]))
        if len(ids) > self._max_length:
            raise DataError(
                "a warm-start row is longer than the limit",
                where=f"row {index} ({row.get('task_id')})",
                got=f"{len(ids)} tokens",
                expected=f"at most {self._max_length}",
                fix="raise tool_rl.sft.max_length, or lower max_tool_response_length",
            )
        return {
            "input_ids": torch.tensor(ids),
            "position_ids": torch.arange(len(ids)),
            "loss_mask": torch.tensor(mask),
        }


def render(
    tokenizer: Any, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]
) -> tuple[list[int], list[int]]:
    """Return token ids and loss mask of a dialogue.

    Works by prefixes: what a turn adds to the rendering of all before it, with the generation prompt as the boundary.
    A template that changes earlier messages when later ones come is refused, for rollouts could not match it.
    """
    ids: list[int] = []
    mask: list[int] = []
    for end, message in enumerate(messages, 1):
        if message["role"] != "assistant":
            continue
        before = _tokens(tokenizer, messages[: end - 1], tools, prompt=True)
        after = _tokens(tokenizer, messages[:end], tools, prompt=False)
        if before[: len(ids)] != ids or after[: len(before)] != before:
            raise DataError(
                "the chat template is not append-only", got=message, fix="use a template that never rewrites history"
            )
        written = _until_end_mark(after[len(before) :], tokenizer.eos_token_id)
        mask += [0] * (len(before) - len(ids)) + [1] * len(written)
        ids = before + written
    return ids, mask


def _tokens(
    tokenizer: Any, messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]], prompt: bool
) -> list[int]:
    out = tokenizer.apply_chat_template(
        list(messages), tools=list(tools) or None, add_generation_prompt=prompt, tokenize=True, return_dict=True
    )
    return list(out["input_ids"])


def _until_end_mark(ids: list[int], end: int) -> list[int]:
    """Cut what the template puts after the end mark (a newline), which a model never writes."""
    return ids[: ids.index(end) + 1] if end in ids else ids
