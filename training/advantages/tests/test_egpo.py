# pyright: basic
"""The published figures, and what must hold for any batch."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.advantages.egpo import mean_entropy, shaped  # noqa: E402
from training.advantages.settings import EgpoSettings  # noqa: E402
from training.advantages.tests.batches import group_relative  # noqa: E402

TABLE = [  # group, right ones: A+, bound+, A+ at most, A-, bound-, A- at least negative (lam 0.4, alpha 2)
    (8, 1, 2.475, 1.237, 2.970, -0.354, 0.177, -0.283),
    (8, 2, 1.620, 0.810, 1.944, -0.540, 0.270, -0.432),
    (8, 4, 0.935, 0.468, 1.122, -0.935, 0.468, -0.748),
    (8, 6, 0.540, 0.270, 0.648, -1.620, 0.810, -1.296),
    (8, 7, 0.354, 0.177, 0.424, -2.475, 1.237, -1.980),
    (16, 8, 0.968, 0.484, 1.162, -0.968, 0.484, -0.775),
]


def group_of(size, right):
    return group_relative(torch.tensor([1.0] * right + [0.0] * (size - right)), ["a"] * size)


def shape(advantages, entropy, config=None, scope=None):
    rows = len(advantages)
    scope = torch.ones(rows, dtype=torch.bool) if scope is None else scope
    group = torch.zeros(rows, dtype=torch.int64)
    return shaped(advantages[:, None], entropy, scope, group, config or EgpoSettings())[:, 0]


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r[1]} of {r[0]}")
def test_published_figures(row):
    size, right, a_plus, bound_plus, most, a_minus, bound_minus, least = row
    plain = group_of(size, right)
    assert [plain[0].item(), plain[-1].item()] == pytest.approx([a_plus, a_minus], abs=6e-4)
    assert [plain[0].item() / 2, -plain[-1].item() / 2] == pytest.approx([bound_plus, bound_minus], abs=6e-4)
    sure = shape(plain, torch.zeros(size))
    assert torch.equal(sure, plain), "without entropy it is GRPO"
    unsure = shape(plain, torch.full((size,), 9.0))
    assert [unsure[0].item(), unsure[-1].item()] == pytest.approx([most, least], abs=6e-4)


def test_the_bonus_is_the_entropy_itself_below_the_bound():
    plain = group_of(8, 4)
    got = shape(plain, torch.full((8,), 0.2))
    assert (got - plain).tolist() == pytest.approx([0.4 * 0.2] * 8, abs=1e-6)


@pytest.mark.parametrize("name", ["clip", "tanh", "ratio"])
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-3, 3, width=32), min_size=1, max_size=8),
    st.lists(st.floats(0, 12, width=32), min_size=8, max_size=8),
    st.floats(1.1, 8),
)
def test_no_sign_changes_and_the_change_is_bounded(name, values, entropy, alpha):
    before = torch.tensor(values)
    after = shape(before, torch.tensor(entropy[: len(values)]), EgpoSettings(shape=name, alpha=alpha))
    assert torch.isfinite(after).all()
    assert torch.equal(after.sign(), before.sign())
    assert ((after - before).abs() <= 0.4 / alpha * before.abs() * (1 + 1e-5) + 1e-7).all()
    if name != "ratio":
        assert (after >= before).all(), "entropy is never negative, so neither is the bonus"


def test_a_dead_group_and_a_rollout_without_thoughts_get_nothing():
    dead = torch.zeros(4)
    assert torch.equal(shape(dead, torch.full((4,), 5.0)), dead)
    plain = group_of(4, 2)
    scope = torch.tensor([True, False, True, False])
    got = shape(plain, torch.full((4,), 5.0), scope=scope)
    assert torch.equal(got[~scope], plain[~scope])
    assert (got[scope] > plain[scope]).all()


def test_ratio_damps_the_rollouts_less_sure_than_others():
    plain = torch.tensor([1.0, 1.0, -1.0])
    got = shape(plain, torch.tensor([0.5, 2.0, 1.25]), EgpoSettings(shape="ratio"))
    assert got[0] == pytest.approx(1.2) and got[1] == pytest.approx(0.8)
    assert got[2] == pytest.approx(-1.0)


def test_the_mean_reads_tokens_in_scope_only():
    entropy = torch.tensor([[1.0, 3.0, 50.0], [7.0, 7.0, 7.0]])
    scope = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    mean, counts = mean_entropy(entropy, scope)
    assert mean.tolist() == [2.0, 0.0]
    assert counts.tolist() == [2, 0]


@pytest.mark.parametrize("wrong", [{"alpha": 1.0}, {"alpha": 0.5}, {"lam": -1}, {"scope": "thoughts"}, {"lambda": 0.4}])
def test_settings_that_break_the_promise_are_refused(wrong):
    with pytest.raises(ValueError):
        EgpoSettings(**wrong)
