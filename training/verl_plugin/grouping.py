"""Which rows of a mini-batch are worth a pass, and which of them share one."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

Rows = list[int]


def rows_with_signal(data: Any) -> Rows:
    """Return the rows whose loss can move a weight.

    A rollout with zero advantage has zero policy gradient. Where the loss also has an entropy or a reference term, or
    is no policy loss at all, every row counts. One row at least is kept, for the step's loss and metrics.

    Args:
        data: a mini-batch (TensorDict) with the nested column `advantages`.
    """
    every = list(range(len(data)))
    if not has_column(data, "advantages") or has_column(data, "ref_log_prob"):
        return every
    return [i for i, row in enumerate(data["advantages"].unbind(0)) if bool((row != 0).any())] or every[:1]


def has_column(data: Any, name: str) -> bool:
    """Tell whether a TensorDict has a column; `in` on one asks about rows."""
    return name in data.keys()  # noqa: SIM118


def group_rows(sequences: Sequence[Tensor], prompts: Sequence[int], rows: Rows, limit: int) -> list[Rows]:
    """Return `rows` in micro-batches: rows of one prompt together, then by length, each about `limit` tokens.

    A shared prompt's tokens count once. Every row appears exactly once; a row above the limit stands alone.

    Args:
        sequences: all rows of the mini-batch, (length,) token ids each.
        prompts: length of each row's prompt; 0 where it has none.
    """
    groups: dict[tuple[int, ...], Rows] = {}
    for i in rows:
        groups.setdefault(tuple(sequences[i][: prompts[i]].tolist()), []).append(i)
    alone = groups.pop((), [])
    alone += [group[0] for group in groups.values() if len(group) == 1]
    batches: list[Rows] = []
    for prompt, group in groups.items():
        if len(group) > 1:
            batches += _split(group, sequences, len(prompt), limit)
    return batches + _split(alone, sequences, 0, limit)


def _split(rows: Rows, sequences: Sequence[Tensor], prompt: int, limit: int) -> list[Rows]:
    """Cut rows, longest first, so that padded tokens stay within the limit."""
    parts: list[Rows] = []
    for i in sorted(rows, key=lambda i: -len(sequences[i])):
        width = len(sequences[parts[-1][0]]) - prompt if parts else 0
        if parts and prompt + (len(parts[-1]) + 1) * width <= limit:
            parts[-1].append(i)
        else:
            parts.append([i])
    return parts
