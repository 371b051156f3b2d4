"""Tokens drawn by inverting the distribution function have the probabilities they should have."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.verl_plugin.sampling import BLOCK, draw_tokens, uniform_numbers  # noqa: E402

BELOW_ONE = 1 - 2**-53


def uniform(*values):
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("width", [6, BLOCK, 3 * BLOCK + 5])
def test_each_token_comes_as_often_as_its_probability_says(width):
    torch.manual_seed(0)
    probs = (2 * torch.randn(width)).softmax(-1)
    rows = 40_000
    grid = (torch.arange(rows, dtype=torch.float64) + 0.5) / rows
    drawn = draw_tokens(probs.expand(rows, -1), grid)
    shares = torch.bincount(drawn, minlength=width) / rows
    # On an even grid of u, each count is within one of its expectation.
    torch.testing.assert_close(shares, probs, rtol=0, atol=2.5 / rows)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.floats(0, BELOW_ONE), st.integers(1, 700), st.floats(0, 1))
def test_what_is_impossible_is_never_drawn(seed, u, width, kept):
    generator = torch.Generator().manual_seed(seed)
    probs = (20 * torch.randn(1, width, generator=generator)).softmax(-1)
    gone = torch.rand(1, width, generator=generator) > kept
    gone[0, probs.argmax()] = False
    probs[gone] = 0.0
    token = int(draw_tokens(probs, uniform(u)))
    assert 0 <= token < width and probs[0, token] > 0


def test_the_ends_of_the_line():
    probs = torch.zeros(3, 1000)
    probs[0, 999], probs[1, 3], probs[2, :2] = 1e-30, 1.0, 0.5
    assert draw_tokens(probs, uniform(0.0, BELOW_ONE, BELOW_ONE)).tolist() == [999, 3, 1]
    assert draw_tokens(probs, uniform(BELOW_ONE, 0.0, 0.0)).tolist() == [999, 3, 0]


def test_a_row_with_a_seed_draws_the_same_whoever_is_beside_it():
    def seeded():
        return torch.Generator().manual_seed(7)

    alone = uniform_numbers(1, {0: seeded()})[0]
    assert uniform_numbers(5, {3: seeded()})[3] == alone
    numbers = uniform_numbers(1000, {})
    assert (numbers >= 0).all() and (numbers < 1).all() and numbers.unique().numel() > 990
