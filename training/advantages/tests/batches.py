# pyright: basic
"""Batches for the tests of the pipeline, made by hand or by hypothesis."""
from __future__ import annotations

import torch
from hypothesis import strategies as st

from training.advantages.masks import Selection
from training.advantages.rollouts import Rollouts


def group_relative(rewards, groups, eps=1e-6):
    """Return advantages as GRPO defines them, with the sample's standard deviation; one of a kind has its reward."""
    out = torch.zeros(len(rewards))
    for group in set(groups):
        rows = [i for i, g in enumerate(groups) if g == group]
        values = rewards[rows]
        alone = len(rows) == 1
        mean = torch.zeros(()) if alone else values.mean()
        std = torch.ones(()) if alone else values.std()
        out[rows] = (values - mean) / (std + eps)
    return out


def rollouts(groups, lengths=None, **columns):
    """Return rollouts of one turn each (or of the given turn lengths), nothing wrong with any of them."""
    rows = len(groups)
    lengths = lengths or [[3]] * rows
    turns = max(map(len, lengths))
    spans = torch.zeros(rows, turns, 2, dtype=torch.int64)
    width = max(sum(n + 2 for n in row) for row in lengths)
    mask = torch.zeros(rows, width)
    for i, row in enumerate(lengths):
        here = 0
        for t, n in enumerate(row):
            spans[i, t] = torch.tensor([here, here + n])
            mask[i, here : here + n] = 1
            here += n + 2  # two tokens of observation behind each turn
    off = torch.zeros(rows, dtype=torch.bool)
    given = {
        "groups": tuple(groups), "mask": mask, "spans": spans, "turn_rewards": torch.zeros(rows, turns),
        "acc": off, "void": off, "overlong": off, "void_turn": off, "padding": off,
    }  # fmt: skip
    return Rollouts(**(given | columns))


def everyone(batch):
    """Return the selection that leaves nobody out."""
    every = torch.ones(len(batch.groups), dtype=torch.bool)
    return Selection(every, every, {})


@st.composite
def batches(draw):
    """Draw (rollouts, rewards, entropy, scope) with groups of any size and turns of any length, some without tokens."""
    groups = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=9))
    lengths = [draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)) for _ in groups]
    turns = max(map(len, lengths))
    eighths = st.integers(0, 8).map(lambda n: n / 8)
    rewards = torch.tensor([draw(eighths) for _ in groups])
    by_turn = torch.tensor([[draw(eighths) if t < len(row) else 0.0 for t in range(turns)] for row in lengths])
    batch = rollouts(groups, lengths, turn_rewards=by_turn)
    seed = draw(st.integers(0, 999))
    generator = torch.Generator().manual_seed(seed)
    entropy = torch.rand(batch.mask.shape, generator=generator) * draw(st.sampled_from([0.1, 1.0, 4.0]))
    scope = (torch.rand(batch.mask.shape, generator=generator) < 0.5) * batch.mask
    return batch, rewards, entropy, scope
