# pyright: basic
"""A queue of one process with the few calls the trainer makes of verl's, and batches put into it.

Like verl's, it keeps rows of nested columns and gives a column only to batches all of whose rows have it.
"""
from __future__ import annotations

import torch
from tensordict import TensorDict
from transfer_queue import KVBatchMeta


class Queue:
    """Stands in for `transfer_queue`: `kv_batch_get` and `kv_batch_put` over a dict."""

    def __init__(self):
        self.rows = {}

    def kv_batch_put(self, keys, partition_id, fields):
        for name, column in fields.items():
            values = column.unbind(0) if column.is_nested else column
            for key, value in zip(keys, values, strict=True):
                self.rows[key][name] = value.clone()
        return self.meta(keys)

    def kv_batch_get(self, keys, partition_id, select_fields):
        names = [n for n in select_fields if all(n in self.rows[key] for key in keys)]
        columns = {}
        for name in names:
            values = [self.rows[key][name] for key in keys]
            tensors = isinstance(values[0], torch.Tensor)
            columns[name] = torch.nested.as_nested_tensor(values, layout=torch.jagged) if tensors else values
        return _Columns(columns) if not _all_tensors(columns) else TensorDict(columns, batch_size=len(keys))

    def meta(self, keys):
        return KVBatchMeta(keys=list(keys), tags=[dict(self.rows[k]["tag"]) for k in keys], partition_id="train")


class _Columns(dict):
    """Columns of which some are plain lists."""


def _all_tensors(columns):
    return all(isinstance(column, torch.Tensor) for column in columns.values())


def put_batch(queue, rollouts):
    """Put rollouts (dicts of group, score, lengths, marks) into the queue; return the batch and its extra fields."""
    keys, extra = [], []
    for number, row in enumerate(rollouts):
        key = f"{row['group']}_{number}_0"
        mask = torch.tensor([bit for n in row.get("lengths", [3]) for bit in [1] * n + [0, 0]])
        if row.get("void") or row.get("padding"):
            mask = torch.zeros_like(mask)
        scores = torch.zeros(len(mask))
        scores[-1] = row["score"]
        spans, here = [], 0
        for n in row.get("lengths", [3]):
            spans.append([here, here + n])
            here += n + 2
        fields = {
            "reward_extra_info": {"void": float(row.get("void", 0)), "acc": row.get("acc", 0.0), "score": row["score"]},
            "facts": {"spans": spans, "overlong": row.get("overlong", False), "void_turn": row.get("void_turn", False)},
            "turn_scores": row.get("turn_scores", []),
        }
        queue.rows[key] = {
            "uid": row["group"], "response_mask": mask, "loss_mask": mask.clone(), "rm_scores": scores,
            "extra_fields": fields, "tag": {"is_padding": row.get("padding", False)},
            "prompts": torch.tensor([1, 2]), "responses": torch.arange(len(mask)) + 3,
        }  # fmt: skip
        keys.append(key)
        extra.append(fields)
    return queue.meta(keys), extra
