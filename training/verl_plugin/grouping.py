"""Which rows of a mini-batch are worth a pass, and which go through it together."""
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from training.verl_plugin.packing import sharing

Rows = list[int]
EVERY_ROW = "TOOL_RL_EVERY_ROW"


def rows_with_signal(data: Any) -> Rows:
    """Return the rows whose loss can move a weight.

    A rollout with zero advantage has zero policy gradient. Where the loss also has an entropy or a reference term, or
    is no policy loss at all, every row counts. One row at least is kept, for the step's loss and metrics. With the
    environment variable `TOOL_RL_EVERY_ROW=1` all are kept: benches compare whole passes.

    Args:
        data: a mini-batch (TensorDict) with the nested column `advantages`.
    """
    every = list(range(len(data)))
    if not has_column(data, "advantages") or has_column(data, "ref_log_prob") or os.environ.get(EVERY_ROW) == "1":
        return every
    return [i for i, row in enumerate(data["advantages"].unbind(0)) if bool((row != 0).any())] or every[:1]


def has_column(data: Any, name: str) -> bool:
    """Tell whether a TensorDict has a column; `in` on one asks about rows."""
    return name in data.keys()  # noqa: SIM118


def group_rows(sequences: Sequence[Tensor], prompts: Sequence[int], rows: Rows, limit: int) -> list[Rows]:
    """Return `rows` in micro-batches of at most `limit` packed tokens, rows of one prompt together.

    A shared prompt's tokens count once a micro-batch. Every row appears exactly once; a row above the limit stands
    alone. Largest parts first, each into the first micro-batch with room.

    Args:
        sequences: all rows of the mini-batch, (length,) token ids each.
        prompts: length of each row's prompt; 0 where it has none.
    """
    parts: list[tuple[int, Rows]] = []
    for members in sharing([sequences[i] for i in rows], [prompts[i] for i in rows]):
        parts += _split([rows[m] for m in members], sequences, prompts[rows[members[0]]], limit)
    parts.sort(key=lambda part: -part[0])
    batches: list[tuple[int, Rows]] = []
    for cost, part in parts:
        place = next((n for n, (used, _) in enumerate(batches) if used + cost <= limit), None)
        if place is None:
            batches.append((cost, part))
        else:
            used, members = batches[place]
            batches[place] = (used + cost, members + part)
    return [members for _, members in batches]


def _split(rows: Rows, sequences: Sequence[Tensor], prompt: int, limit: int) -> list[tuple[int, Rows]]:
    """Return the rows of one prompt in parts with their packed tokens, each within the limit where a row allows it."""
    parts: list[tuple[int, Rows]] = []
    for i in rows:
        tail = len(sequences[i]) - prompt
        if parts and parts[-1][0] + tail <= limit:
            used, members = parts[-1]
            parts[-1] = (used + tail, [*members, i])
        else:
            parts.append((prompt + tail, [i]))
    return parts
