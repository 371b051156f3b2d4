# pyright: basic
"""The pipeline around verl's own estimator: equal to it bit for bit when nothing is on, right beside it otherwise."""
from __future__ import annotations

import importlib.util

import numpy as np
import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensordict import TensorDict
from verl.protocol import DataProto
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories
from verl.workers.utils.padding import response_to_nested

from training.advantages.downsample import downsampled_advantages
from training.advantages.settings import AdvantageSettings, EgpoSettings, MaskSettings, TurnCreditSettings
from training.verl_plugin import columns
from training.verl_plugin.advantage import Plan, compute
from training.verl_plugin.tests.queue import Queue, put_batch


@pytest.fixture
def queue(monkeypatch):
    made = Queue()
    monkeypatch.setattr(columns, "tq", made)
    return made


def verls(queue, estimator="grpo", by_std=True):
    """Return what verl's trainer does with a batch: pad, estimate, write back in each row's length."""

    def estimate(batch):
        names = ["response_mask", "rm_scores"]
        data = queue.kv_batch_get(keys=batch.keys, partition_id="train", select_fields=names)
        mask = data["response_mask"]
        proto = DataProto(batch=data.to_padded_tensor())
        proto.batch["token_level_rewards"] = proto.batch["rm_scores"]
        proto.non_tensor_batch["uid"] = np.array([queue.rows[k]["uid"] for k in batch.keys], dtype=object)
        proto = compute_advantage_for_multi_trajectories(
            proto, batch_keys=batch.keys, adv_estimator=estimator, norm_adv_by_std_in_grpo=by_std, config={}
        )
        written = {name: response_to_nested(proto.batch[name], mask) for name in ("advantages", "returns")}
        fields = TensorDict(written, batch_size=len(batch))
        return queue.kv_batch_put(keys=batch.keys, partition_id="train", fields=fields)

    return estimate


def plan(config=None, keep=None):
    return Plan(config or AdvantageSettings(), keep, True)


def no_entropy(_live):
    raise AssertionError("nobody asked for entropies")


def advantages(queue, batch):
    return [queue.rows[key]["advantages"] for key in batch.keys]


ROLLOUTS = st.lists(
    st.fixed_dictionaries(
        {
            "group": st.sampled_from("abc"),
            "score": st.integers(0, 20).map(lambda n: n / 20),
            "lengths": st.lists(st.integers(1, 4), min_size=1, max_size=3),
        }
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=40, deadline=None)
@given(ROLLOUTS, st.booleans())
@pytest.mark.parametrize("estimator", ["grpo", "rloo"])
def test_with_everything_off_the_update_is_verls_bit_for_bit(estimator, rollouts, by_std):
    with pytest.MonkeyPatch.context() as patch:
        ours, plain = Queue(), Queue()
        patch.setattr(columns, "tq", ours)
        batch, extra = put_batch(ours, rollouts)
        put_batch(plain, rollouts)
        compute(batch, extra, plan(), verls(ours, estimator, by_std), no_entropy)
        verls(plain, estimator, by_std)(batch)
    for key in batch.keys:
        for name in ("advantages", "returns", "response_mask", "loss_mask"):
            assert torch.equal(ours.rows[key][name], plain.rows[key][name]), name


@settings(max_examples=25, deadline=None)
@given(ROLLOUTS)
def test_shaping_by_nothing_is_verls_bit_for_bit_too(rollouts):
    """The path that writes advantages anew: no entropy in scope, no turn rewards."""
    config = AdvantageSettings(egpo=EgpoSettings(enabled=True), turn_credit=TurnCreditSettings(enabled=True))
    with pytest.MonkeyPatch.context() as patch:
        ours, plain = Queue(), Queue()
        patch.setattr(columns, "tq", ours)
        batch, extra = put_batch(ours, rollouts)
        put_batch(plain, rollouts)
        width = max(len(ours.rows[k]["response_mask"]) for k in batch.keys)
        nothing = torch.zeros(len(batch), width), torch.zeros(len(batch), width)
        compute(batch, extra, plan(config), verls(ours), lambda live: nothing)
        verls(plain)(batch)
    for key in batch.keys:
        assert torch.equal(ours.rows[key]["advantages"], plain.rows[key]["advantages"])


def test_a_void_rollout_does_not_move_its_groups_mean(queue):
    rows = [{"group": "a", "score": s} for s in (1.0, 0.5, 0.0)] + [{"group": "b", "score": 1.0}] * 2
    with_void = [*rows, {"group": "a", "score": 0.0, "void": 1, "lengths": [5]}]
    batch, extra = put_batch(queue, with_void)
    _, told = compute(batch, extra, plan(), verls(queue), no_entropy)
    got = advantages(queue, batch)
    other = Queue()
    alone, _ = put_batch(other, rows)
    verls(other)(alone)
    for a, b in zip(got, advantages(other, alone), strict=False):
        assert torch.equal(a, b)
    assert not got[-1].any() and len(got[-1]) == 7
    assert told["advantage/masked/infrastructure"] == 1


def test_a_masked_rollout_carries_no_loss_but_may_count(queue):
    rows = [{"group": "a", "score": 1.0}, {"group": "a", "score": 0.0, "overlong": True}, {"group": "a", "score": 0.5}]
    batch, extra = put_batch(queue, rows)
    compute(batch, extra, plan(AdvantageSettings(masks=MaskSettings(overlong="loss"))), verls(queue), no_entropy)
    kept = queue.rows[batch.keys[0]]["advantages"][0].item()
    assert kept == pytest.approx(1.0, abs=1e-4), "0.5 above the mean, spread 0.5: the masked one counted"
    masked = queue.rows[batch.keys[1]]
    assert not masked["advantages"].any() and not masked["loss_mask"].any() and not masked["response_mask"].any()
    compute(batch, extra, plan(AdvantageSettings(masks=MaskSettings(overlong="group"))), verls(queue), no_entropy)
    assert queue.rows[batch.keys[0]]["advantages"][0].item() == pytest.approx(0.7071, abs=1e-4)


def test_where_nothing_is_left_one_row_keeps_a_mask_so_that_the_loss_is_a_number(queue):
    batch, extra = put_batch(queue, [{"group": "a", "score": 1.0, "acc": 1.0}] * 1 + [{"group": "b", "score": 0.5}])
    compute(batch, extra, plan(AdvantageSettings(gate="acc")), verls(queue), no_entropy)
    masks = [queue.rows[k]["loss_mask"].sum().item() for k in batch.keys]
    assert masks == [3, 0]
    assert not any(a.any() for a in advantages(queue, batch))


def test_downsampling_is_what_it_was_and_leaves_void_rollouts_out(queue):
    scores = [0.1, 0.9, 0.5, 0.4]
    batch, extra = put_batch(queue, [{"group": "a", "score": s} for s in scores])
    compute(batch, extra, plan(keep=2), verls(queue), no_entropy)
    want = downsampled_advantages(torch.tensor(scores), ["a"] * 4, 2, True)
    for key, value in zip(batch.keys, want, strict=True):
        assert torch.equal(queue.rows[key]["advantages"], value * queue.rows[key]["response_mask"].float())
    rows = [{"group": "a", "score": s} for s in scores]
    batch, extra = put_batch(queue, [*rows, {"group": "a", "score": 0.0, "void": 1}])
    compute(batch, extra, plan(keep=2), verls(queue), no_entropy)
    assert torch.equal(queue.rows[batch.keys[0]]["advantages"][0], want[0]), "the void 0.0 is not the lowest score"


def test_rollouts_that_downsampling_left_out_get_no_credit_either(queue):
    rows = [{"group": "a", "score": s, "turn_scores": [s]} for s in (0.0, 0.5, 0.6, 1.0)]
    batch, extra = put_batch(queue, rows)
    config = AdvantageSettings(turn_credit=TurnCreditSettings(enabled=True))
    compute(batch, extra, plan(config, keep=2), verls(queue), no_entropy)
    assert [bool(a.any()) for a in advantages(queue, batch)] == [True, False, False, True]


def test_egpo_asks_for_live_rows_and_pads_stay_out(queue):
    rows = [
        {"group": "a", "score": 1.0}, {"group": "a", "score": 0.0}, {"group": "b", "score": 0.3},
        {"group": "b", "score": 0.3}, {"group": "padx", "score": 0.0, "padding": True, "void": 1},
    ]  # fmt: skip
    batch, extra = put_batch(queue, rows)
    asked = []

    def entropy(live):
        asked.append(live.tolist())
        return torch.full((5, 5), 9.0), live[:, None] * (torch.arange(5) < 3).float()

    config = AdvantageSettings(egpo=EgpoSettings(enabled=True))
    _, told = compute(batch, extra, plan(config), verls(queue), entropy)
    assert asked == [[True, True, False, False, False]]
    assert queue.rows[batch.keys[0]]["advantages"].tolist() == pytest.approx([0.8485] * 3 + [0, 0], abs=1e-4)
    assert queue.rows[batch.keys[1]]["advantages"].tolist() == pytest.approx([-0.5657] * 3 + [0, 0], abs=1e-4)
    assert told["advantage/masked/infrastructure"] == 0, "a row that fills the batch up is no void rollout"


def test_rollouts_of_another_loop_are_estimated_as_they_are(queue):
    batch, _ = put_batch(queue, [{"group": "a", "score": 1.0}, {"group": "a", "score": 0.0}])
    bare = [{"turn_scores": [], "tool_rewards": []}] * 2
    compute(batch, bare, plan(), verls(queue), no_entropy)
    assert advantages(queue, batch)[0][0].item() == pytest.approx(0.7071, abs=1e-4)
