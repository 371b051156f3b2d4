# pyright: basic
"""From numbers a turn to numbers a token and back."""
from __future__ import annotations

import pytest
from hypothesis import given, settings

torch = pytest.importorskip("torch")

from training.advantages.tests.batches import batches  # noqa: E402
from training.advantages.tokens import spread_over_tokens, tokens_of_turns  # noqa: E402


@settings(max_examples=60, deadline=None)
@given(batches())
def test_every_token_gets_the_number_of_its_turn(case):
    batch = case[0]
    rows, width = batch.mask.shape
    turns = batch.spans.shape[1]
    columns = torch.arange(rows * (turns + 1)).view(rows, turns + 1).float()
    got = spread_over_tokens(columns, batch.spans, batch.mask)
    want = columns[:, :1].expand(rows, width).clone()
    for row in range(rows):
        for turn in range(turns):
            start, end = batch.spans[row, turn].tolist()
            want[row, start:end] = columns[row, turn + 1]
    assert torch.equal(got, want * batch.mask)
    counts = tokens_of_turns(batch.mask, batch.spans)
    assert counts.sum(1).tolist() == batch.mask.sum(1).tolist()
    assert torch.equal(counts[:, 1:], batch.spans[..., 1] - batch.spans[..., 0])


def test_without_turns_everything_is_outside():
    spans = torch.zeros(2, 0, 2, dtype=torch.int64)
    got = spread_over_tokens(torch.tensor([[3.0], [4.0]]), spans, torch.ones(2, 3))
    assert got.tolist() == [[3, 3, 3], [4, 4, 4]]
    assert tokens_of_turns(torch.ones(2, 3), spans).tolist() == [[3], [3]]
