# pyright: basic
"""The whole pipeline: the order of rows, their padding and the split over workers leave no trace."""
from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.advantages.masks import Selection, select  # noqa: E402
from training.advantages.pipeline import shape  # noqa: E402
from training.advantages.settings import AdvantageSettings, EgpoSettings, TurnCreditSettings  # noqa: E402
from training.advantages.tests.batches import batches, everyone, group_relative, rollouts  # noqa: E402

ALL_ON = AdvantageSettings(
    turn_credit=TurnCreditSettings(enabled=True, weight=0.5), egpo=EgpoSettings(enabled=True), recentre=True
)


def run(batch, rewards, entropy, scope, config):
    base = group_relative(rewards, batch.groups)
    return shape(batch, select(batch, config), base, config, lambda live: (entropy, scope)).advantages


def rows_of(batch, order):
    """Return the batch with the given rows."""
    plain = {f.name: getattr(batch, f.name) for f in dataclasses.fields(batch)}
    moved = {name: value[order] for name, value in plain.items() if name != "groups"}
    return dataclasses.replace(batch, groups=tuple(batch.groups[i] for i in order), **moved)


@settings(max_examples=40, deadline=None)
@given(batches(), st.randoms())
def test_the_order_of_rows_does_not_matter(case, random):
    batch, rewards, entropy, scope = case
    order = list(range(len(batch.groups)))
    random.shuffle(order)
    straight = run(batch, rewards, entropy, scope, ALL_ON)
    mixed = run(rows_of(batch, order), rewards[order], entropy[order], scope[order], ALL_ON)
    assert torch.allclose(straight[order], mixed, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(batches(), st.integers(1, 5))
def test_padding_of_tokens_and_rows_does_not_matter(case, more):
    batch, rewards, entropy, scope = case
    named = {"e": entropy, "s": scope, "m": batch.mask}
    wide = {name: torch.nn.functional.pad(x, (0, more)) for name, x in named.items()}
    filled = rows_of(dataclasses.replace(batch, mask=wide["m"]), [*range(len(batch.groups)), 0, 0])
    filler = torch.tensor([False] * len(batch.groups) + [True, True])
    mask = torch.where(filler[:, None], 0, filled.mask)
    filled = dataclasses.replace(filled, groups=(*batch.groups, "pad", "pad"), padding=filler, mask=mask)
    zeros = torch.zeros(2, wide["e"].shape[1])
    got = run(
        filled, torch.cat([rewards, torch.zeros(2)]), torch.cat([wide["e"], zeros + 9]),
        torch.cat([wide["s"], zeros]), ALL_ON,
    )  # fmt: skip
    want = run(batch, rewards, entropy, scope, ALL_ON)
    assert torch.allclose(got[:-2, : want.shape[1]], want, atol=1e-6)
    assert not got[-2:].any() and not got[:, want.shape[1] :].any()


@settings(max_examples=40, deadline=None)
@given(batches())
def test_groups_computed_apart_are_the_groups_computed_together(case):
    batch, rewards, entropy, scope = case
    together = run(batch, rewards, entropy, scope, ALL_ON)
    for group in set(batch.groups):
        rows = [i for i, g in enumerate(batch.groups) if g == group]
        apart = run(rows_of(batch, rows), rewards[rows], entropy[rows], scope[rows], ALL_ON)
        assert torch.allclose(together[rows], apart, atol=1e-6)


@settings(max_examples=40, deadline=None)
@given(batches())
def test_recentred_groups_have_mean_zero_and_the_world_has_no_advantage(case):
    batch, rewards, entropy, scope = case
    got = run(batch, rewards, entropy, scope, ALL_ON)
    assert torch.isfinite(got).all()
    assert not (got * (1 - batch.mask)).any()
    each = got.sum(-1) / batch.mask.sum(-1)
    for group in set(batch.groups):
        rows = [i for i, g in enumerate(batch.groups) if g == group]
        assert len(rows) == 1 or abs(each[rows].mean().item()) < 1e-5


@settings(max_examples=40, deadline=None)
@given(batches())
def test_with_everything_off_it_is_the_base_bit_for_bit(case):
    batch, rewards, _, _ = case
    base = group_relative(rewards, batch.groups)
    got = shape(batch, everyone(batch), base, AdvantageSettings()).advantages
    assert torch.equal(got, base.unsqueeze(-1) * batch.mask)


def test_weights_of_nothing_change_nothing():
    batch = rollouts("aab", [[2, 1], [3], [1]], turn_rewards=torch.tensor([[1.0, 1.0], [0.0, 0.0], [1.0, 0.0]]))
    base = group_relative(torch.tensor([1.0, 0.0, 0.5]), batch.groups)
    config = AdvantageSettings(
        turn_credit=TurnCreditSettings(enabled=True, weight=0), egpo=EgpoSettings(enabled=True, lam=0)
    )
    ones = torch.ones(batch.mask.shape)
    got = shape(batch, everyone(batch), base, config, lambda live: (ones, batch.mask)).advantages
    assert torch.equal(got, base.unsqueeze(-1) * batch.mask)


def test_credit_falls_on_the_tokens_of_its_turn():
    batch = rollouts("aa", [[2, 3], [1, 1]], turn_rewards=torch.tensor([[0.0, 1.0], [0.0, 0.0]]))
    config = AdvantageSettings(turn_credit=TurnCreditSettings(enabled=True))
    got = shape(batch, everyone(batch), torch.tensor([0.5, -0.5]), config).advantages
    assert got[0].tolist() == [1.5, 1.5, 0, 0, 1.5, 1.5, 1.5, 0, 0]
    assert got[1].tolist() == [-1.5, 0, 0, -1.5, 0, 0, 0, 0, 0]


def test_who_is_not_trained_gets_nothing_from_any_step():
    batch = rollouts("aaa", turn_rewards=torch.tensor([[1.0], [0.0], [0.5]]))
    every, some = torch.ones(3, dtype=torch.bool), torch.tensor([True, True, False])
    ones = torch.ones(batch.mask.shape)
    base = torch.tensor([1.0, -1.0, 0.7])
    got = shape(batch, Selection(every, some, {}), base, ALL_ON, lambda live: (ones, batch.mask)).advantages
    assert not got[2].any() and got[:2].any()


def test_entropy_is_asked_only_where_it_can_matter_and_what_it_did_is_told():
    batch = rollouts("aabb")
    asked = []

    def entropy(live):
        asked.append(live.tolist())
        return torch.full(batch.mask.shape, 9.0), batch.mask

    config = AdvantageSettings(egpo=EgpoSettings(enabled=True))
    told = shape(batch, everyone(batch), torch.tensor([1.0, -1.0, 0.0, 0.0]), config, entropy).metrics
    assert asked == [[True, True, False, False]]
    assert told["egpo/entropy"] == 9 and told["egpo/clipped"] == 1 and told["egpo/without_scope"] == 0
    assert told["egpo/bonus"] == pytest.approx(0.2)
