"""From one number a turn to one a token."""
from __future__ import annotations

import torch
from torch import Tensor


def tokens_of_turns(mask: Tensor, spans: Tensor) -> Tensor:
    """Return (rows, 1 + turns) how many tokens of the mask lie outside all turns, then in each turn."""
    upto = torch.nn.functional.pad(mask.cumsum(-1), (1, 0))
    inside = upto.gather(1, spans[..., 1]) - upto.gather(1, spans[..., 0])
    return torch.cat([upto[:, -1:] - inside.sum(-1, keepdim=True), inside], 1)


def spread_over_tokens(columns: Tensor, spans: Tensor, width: int) -> Tensor:
    """Return (rows, width) the number of each token's turn.

    Args:
        columns: (rows, 1 + turns); the first is for tokens outside all turns.
        spans: (rows, turns, 2) int64 [start, end), rising and disjoint within `width`; (0, 0) for no turn.
    """
    rows, turns = spans.shape[:2]
    start, end = spans[..., 0], spans[..., 1]
    missing = end <= start
    # Stretches of a row in order: gap, turn, gap, turn, ..., gap. A turn that is not there begins where the row stood.
    stood = torch.cummax(torch.where(missing, 0, end), 1).values
    before = torch.nn.functional.pad(stood[:, :-1], (1, 0))
    gaps = torch.where(missing, 0, start - before)
    lengths = torch.stack([gaps, torch.where(missing, 0, end - start)], -1).view(rows, 2 * turns)
    lengths = torch.cat([lengths, width - stood[:, -1:] if turns else torch.full((rows, 1), width)], 1)
    outside = columns[:, :1].expand(rows, turns)
    values = torch.cat([torch.stack([outside, columns[:, 1:]], -1).view(rows, 2 * turns), columns[:, :1]], 1)
    return torch.repeat_interleave(values.reshape(-1), lengths.reshape(-1), output_size=rows * width).view(rows, width)
