"""Micro-batches: every row once, one prompt together, never more tokens than the limit."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.verl_plugin.grouping import group_rows, rows_with_signal  # noqa: E402
from training.verl_plugin.packing import pack  # noqa: E402

LIMIT = 60
row_lists = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), min_size=1, max_size=20)


def build(rows, prompt_length):
    sequences = [torch.tensor([kind] * prompt_length + [9] * tail) for kind, tail in rows]
    return sequences, [prompt_length] * len(rows)


@settings(max_examples=50, deadline=None)
@given(row_lists, st.integers(0, 6))
def test_each_row_once_and_within_the_limit(rows, prompt_length):
    sequences, prompts = build(rows, prompt_length)
    batches = group_rows(sequences, prompts, list(range(len(rows))), LIMIT)
    assert sorted(i for b in batches for i in b) == list(range(len(rows)))
    for batch in batches:
        tokens = pack([sequences[i] for i in batch], [prompts[i] for i in batch]).input_ids.shape[1]
        assert len(batch) == 1 or tokens <= LIMIT


def test_rows_of_one_prompt_stay_together():
    sequences, prompts = build([(0, 3), (1, 3), (0, 4), (1, 4)], 2)
    assert sorted(map(sorted, group_rows(sequences, prompts, [0, 1, 2, 3], 9))) == [[0, 2], [1, 3]]
    assert [sorted(b) for b in group_rows(sequences, prompts, [0, 1, 2, 3], 18)] == [[0, 1, 2, 3]]


class Columns(dict):
    """As much of a TensorDict as `rows_with_signal` reads."""

    def __len__(self):
        return self["advantages"].size(0)


def columns(*advantages, **more):
    rows = [torch.tensor(a) for a in advantages]
    return Columns(advantages=torch.nested.as_nested_tensor(rows, layout=torch.jagged), **more)


def test_rows_without_advantage_are_left_out():
    assert rows_with_signal(columns([0.0, 0.0], [0.5, 0.5, 0.5], [0.0])) == [1]


def test_a_reference_term_keeps_every_row():
    assert rows_with_signal(columns([0.0, 0.0], [0.5], ref_log_prob=0)) == [0, 1]


def test_every_row_is_kept_on_request(monkeypatch):
    monkeypatch.setenv("TOOL_RL_EVERY_ROW", "1")
    assert rows_with_signal(columns([0.0, 0.0], [0.5], [0.0])) == [0, 1, 2]


def test_one_row_is_kept_where_none_has_signal():
    assert rows_with_signal(columns([0.0], [0.0, 0.0])) == [0]
