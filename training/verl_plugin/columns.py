"""Columns of a batch in verl's queue: reading them, and writing values of a row back in its own length."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from torch import Tensor
from transfer_queue import KVBatchMeta


def read_column(batch: KVBatchMeta, keys: list[str], name: str) -> list[Any]:
    """Return a non-tensor column as a list; the queue gives a list or a stack, depending on its backend."""
    data = tq.kv_batch_get(keys=keys, partition_id=str(batch.partition_id), select_fields=[name])
    column: Any = data[name]
    return list(column.tolist()) if hasattr(column, "tolist") else list(column)


def read_tensors(batch: KVBatchMeta, keys: Sequence[str], names: Sequence[str]) -> dict[str, list[Tensor]]:
    """Return nested columns as lists of rows, each in its own length."""
    data = tq.kv_batch_get(keys=list(keys), partition_id=str(batch.partition_id), select_fields=list(names))
    return {name: list(data[name].unbind(0)) for name in names}


def write_rows(batch: KVBatchMeta, keys: Sequence[str], columns: Mapping[str, Sequence[Tensor]]) -> KVBatchMeta:
    """Write rows of any lengths under the given keys; return what the queue says of the batch."""
    nested = {name: torch.nested.as_nested_tensor(list(rows), layout=torch.jagged) for name, rows in columns.items()}
    fields = TensorDict(nested, batch_size=len(keys))
    return tq.kv_batch_put(keys=list(keys), partition_id=str(batch.partition_id), fields=fields)


def padded(rows: Sequence[Tensor]) -> Tensor:
    """Return (rows, longest) with 0 behind each row's end."""
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def is_padding(tag: Mapping[str, Any]) -> bool:
    """Tell whether a row only fills the batch up to a multiple of the ranks."""
    return bool(tag.get("is_padding", False))
