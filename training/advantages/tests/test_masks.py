# pyright: basic
"""Who is trained on, who counts, and what becomes of groups that lost members."""
from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from training.advantages.masks import select  # noqa: E402
from training.advantages.settings import AdvantageSettings, MaskSettings  # noqa: E402
from training.advantages.tests.batches import rollouts  # noqa: E402


def marks(*rows, size):
    return torch.tensor([i in rows for i in range(size)])


def test_nothing_is_left_out_by_default():
    batch = rollouts("aabb", overlong=marks(0, 1, size=4), void_turn=marks(2, size=4))
    chosen = select(batch, AdvantageSettings())
    assert chosen.everything
    assert set(chosen.reasons.values()) == {0.0}


def test_a_rollout_the_infrastructure_failed_is_neither_trained_nor_counted():
    chosen = select(rollouts("aaabb", void=marks(1, size=5)), AdvantageSettings())
    assert chosen.counted.tolist() == chosen.trained.tolist() == [True, False, True, True, True]
    assert chosen.reasons["infrastructure"] == 1


@pytest.mark.parametrize(("mode", "counted"), [("loss", True), ("group", False)])
@pytest.mark.parametrize("rule", ["overlong", "void_turn"])
def test_a_mask_takes_the_loss_or_the_place_in_the_group_too(rule, mode, counted):
    batch = rollouts("aaaa", **{rule: marks(3, size=4)})
    chosen = select(batch, AdvantageSettings(masks=MaskSettings(**{rule: mode})))
    assert chosen.trained.tolist() == [True, True, True, False]
    assert chosen.counted.tolist() == [True, True, True, counted]
    assert chosen.reasons[rule] == 1


def test_a_group_with_too_few_left_is_dropped_and_one_that_was_small_is_not():
    batch = rollouts("aaabbc", void=marks(0, 1, 3, size=6))
    chosen = select(batch, AdvantageSettings())
    assert chosen.trained.tolist() == [False, False, False, False, False, True]
    assert chosen.reasons["short_group"] == 2
    kept = select(batch, AdvantageSettings(masks=MaskSettings(least_group=1)))
    assert kept.trained.tolist() == [False, False, True, False, True, True]


def test_the_gate_looks_at_the_outcome_of_those_that_count():
    acc = torch.tensor([True, True, True, False, True, False])
    batch = rollouts("aabbcc", acc=acc, void=marks(3, size=6))
    chosen = select(batch, AdvantageSettings(gate="acc", masks=MaskSettings(least_group=1)))
    assert chosen.trained.tolist() == [False, False, False, False, True, True]
    assert chosen.reasons["gate"] == 3, "the void one is not counted twice"


def test_rows_that_fill_the_batch_up_are_never_a_reason():
    batch = rollouts("aapp", void=marks(2, 3, size=4), padding=marks(2, 3, size=4))
    chosen = select(batch, AdvantageSettings(gate="acc"))
    assert chosen.reasons["infrastructure"] == 0 and chosen.reasons["gate"] == 2
    assert chosen.counted[2:].all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("abc"), *[st.booleans()] * 4), min_size=1, max_size=10), st.randoms())
def test_the_choice_does_not_depend_on_the_order(rows, random):
    def chosen(rows):
        groups, void, overlong, void_turn, acc = zip(*rows, strict=True)
        columns = {"void": void, "overlong": overlong, "void_turn": void_turn, "acc": acc}
        batch = rollouts(groups, **{name: torch.tensor(values) for name, values in columns.items()})
        config = AdvantageSettings(gate="acc", masks=MaskSettings(overlong="group", void_turn="loss"))
        got = select(batch, config)
        assert (got.counted | ~got.trained).all(), "what is trained counts"
        return sorted(zip(rows, got.trained.tolist(), got.counted.tolist(), strict=True))

    mixed = list(rows)
    random.shuffle(mixed)
    assert chosen(rows) == chosen(mixed)
