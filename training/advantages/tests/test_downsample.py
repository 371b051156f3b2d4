# pyright: basic
"""The kept rollouts are the widest subset, and their advantages those of a small group."""
from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.advantages.downsample import downsampled_advantages, widest  # noqa: E402

rewards_of = st.lists(st.integers(0, 20).map(lambda n: n / 20), min_size=1, max_size=7)


def variance(values):
    return torch.tensor(values, dtype=torch.float64).var(correction=0).item()


@settings(max_examples=50, deadline=None)
@given(rewards_of, st.integers(1, 7))
def test_no_other_subset_is_wider(rewards, keep):
    mask = widest(torch.tensor(rewards), keep)
    kept = [r for r, m in zip(rewards, mask.tolist(), strict=True) if m]
    size = min(keep, len(rewards))
    assert len(kept) == size
    assert variance(kept) >= max(variance(s) for s in itertools.combinations(rewards, size)) - 1e-6


@settings(max_examples=50, deadline=None)
@given(rewards_of, st.integers(2, 7))
def test_advantages_are_centred_and_zero_outside(rewards, keep):
    got = downsampled_advantages(torch.tensor(rewards), ["a"] * len(rewards), keep)
    assert abs(got.sum().item()) < 1e-3
    assert int((got != 0).sum()) <= keep


def test_groups_do_not_mix_and_keeping_all_is_plain_grpo():
    rewards = torch.tensor([0.0, 1.0, 0.5, 0.5])
    got = downsampled_advantages(rewards, ["a", "a", "b", "b"], 8)
    assert got.tolist() == pytest.approx([-0.7071, 0.7071, 0.0, 0.0], abs=1e-3)


def test_best_and_worst_are_kept():
    got = downsampled_advantages(torch.tensor([0.5, 0.0, 0.6, 1.0]), ["a"] * 4, 2)
    assert (got != 0).tolist() == [False, True, False, True]
