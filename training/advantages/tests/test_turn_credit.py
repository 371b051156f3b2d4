# pyright: basic
"""Credit by turn is unbiased, also for the choice to stop: shown by enumerating a small game exactly.

The game: at each of up to three turns one stops with probability p; turn k pays as `pays` says. Every group of three
rollouts is enumerated with its probability, so means are exact and need no tolerance for chance.
"""
from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.advantages.settings import TurnCreditSettings  # noqa: E402
from training.advantages.turn_credit import return_to_go, turn_credit  # noqa: E402

TURNS, GROUP = 3, 3
EVEN = {length: [0.5] * length for length in (1, 2, 3)}
"""Every turn pays the same, so longer is better."""
SAME_IN_ALL = {1: [1.5], 2: [0.5, 1.0], 3: [0.5, 0.5, 0.5]}
"""The last turn makes up for what stopping missed, so length does not matter."""
BASELINES = ["reached", "padded", "episode"]
LATE = {1: [0.0], 2: [0.0, 0.2], 3: [0.0, 0.2, 1.0]}


def chance(length, p):
    return p * (1 - p) ** (length - 1) if length < TURNS else (1 - p) ** (TURNS - 1)


def true_gradient(pays, logit):
    """Return d E[return] / d logit by differentiating the sum over lengths."""
    x = torch.tensor(logit, dtype=torch.float64, requires_grad=True)
    p = torch.sigmoid(x)
    value = sum(sum(pays[n]) * chance(n, p) for n in (1, 2, 3))
    (gradient,) = torch.autograd.grad(value, x)
    return gradient.item()


def scores(length, p):
    """Return d log pi / d logit of each turn's choice; the last turn has none."""
    return [(1 - p) if turn == length - 1 else -p for turn in range(min(length, TURNS - 1))]


def groups_of_rollouts():
    return itertools.product((1, 2, 3), repeat=GROUP)


def columns(lengths, pays):
    rewards = torch.tensor([pays[n] + [0.0] * (TURNS - n) for n in lengths])
    reached = torch.tensor([[t < n for t in range(TURNS)] for n in lengths])
    return rewards, reached


def expected_gradient(credit, pays, logit, weight=lambda lengths, turn: 1.0):
    p = 1 / (1 + math.exp(-logit))
    total = 0.0
    for lengths in groups_of_rollouts():
        probability = math.prod(chance(n, p) for n in lengths)
        given_credit = credit(*columns(lengths, pays))
        terms = scores(lengths[0], p)
        total += probability * sum(s * given_credit[0][t].item() * weight(lengths, t) for t, s in enumerate(terms))
    return total


def ours(baseline):
    config = TurnCreditSettings(enabled=True, baseline=baseline)
    group, counted = torch.zeros(GROUP, dtype=torch.int64), torch.ones(GROUP, dtype=torch.bool)
    return lambda rewards, reached: turn_credit(rewards, reached, group, counted, config)


def centred_turn_by_turn(rewards, reached):
    """The trap: centre each turn's reward by the mean of that turn, then sum what is left of the rollout."""
    means = (rewards * reached).sum(0) / reached.sum(0).clamp_min(1)
    return return_to_go((rewards - means) * reached, 1.0) * reached


@pytest.mark.parametrize("pays", [EVEN, SAME_IN_ALL, LATE], ids=["even", "same in all", "late"])
@pytest.mark.parametrize("logit", [-1.0, 0.3])
@pytest.mark.parametrize("baseline", ["padded", "episode"])
def test_the_mean_gradient_of_stopping_is_the_true_one(baseline, logit, pays):
    assert expected_gradient(ours(baseline), pays, logit) == pytest.approx(true_gradient(pays, logit), abs=1e-6)


@pytest.mark.parametrize("pays", [EVEN, SAME_IN_ALL, LATE], ids=["even", "same in all", "late"])
def test_compared_with_those_that_got_there_only_lonely_turns_are_scaled_down(pays):
    """With `reached` a turn's term is the true one times the chance that another rollout got there."""

    def somebody_else(lengths, turn):
        return float(any(n > turn for n in lengths[1:]))

    def bare(rewards, reached):
        return return_to_go(rewards, 1.0) * reached

    want = expected_gradient(bare, pays, 0.3, somebody_else)
    assert expected_gradient(ours("reached"), pays, 0.3) == pytest.approx(want, abs=1e-6)


def test_centring_turn_by_turn_is_the_trap_it_is_said_to_be():
    assert abs(true_gradient(EVEN, 0.3)) > 0.1
    assert expected_gradient(centred_turn_by_turn, EVEN, 0.3) == pytest.approx(0.0, abs=1e-6)
    assert true_gradient(SAME_IN_ALL, 0.3) == pytest.approx(0.0, abs=1e-9)
    assert abs(expected_gradient(centred_turn_by_turn, SAME_IN_ALL, 0.3)) > 0.02


def test_return_to_go_discounts_what_comes_later():
    got = return_to_go(torch.tensor([[1.0, 2.0, 4.0]]), 0.5)
    assert got.tolist() == [[3.0, 4.0, 4.0]]
    assert return_to_go(torch.zeros(2, 0), 0.5).shape == (2, 0)


def test_a_rollout_alone_and_one_that_does_not_count_get_no_credit():
    config = TurnCreditSettings(enabled=True)
    rewards, reached = torch.tensor([[1.0], [0.0], [1.0]]), torch.ones(3, 1, dtype=torch.bool)
    group, counted = torch.tensor([0, 1, 1]), torch.tensor([True, True, False])
    assert turn_credit(rewards, reached, group, counted, config).tolist() == [[0.0], [0.0], [0.0]]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=2, max_size=6), st.sampled_from(BASELINES), st.data())
def test_a_rollouts_own_reward_never_moves_its_baseline(lengths, baseline, data):
    """Add to one rollout's last reward: its own credit grows by that and the others' shrink."""
    pays = {n: [data.draw(st.integers(0, 4)) / 4 for _ in range(n)] for n in (1, 2, 3)}
    rewards, reached = columns(lengths, pays)
    group, counted = torch.zeros(len(lengths), dtype=torch.int64), torch.ones(len(lengths), dtype=torch.bool)
    config = TurnCreditSettings(enabled=True, baseline=baseline)
    before = turn_credit(rewards, reached, group, counted, config)
    more = rewards.clone()
    more[0, lengths[0] - 1] += 1.0
    after = turn_credit(more, reached, group, counted, config)
    moved = (after - before)[0][reached[0]]
    assert ((moved - 1).abs() < 1e-5).logical_or(moved == 0).all()
    assert (after[1:] <= before[1:] + 1e-6).all()
