"""The advantage pipeline on verl's queue: which rollouts verl's estimator sees, and what is added to its answer.

    queue ─► Rollouts ─► select ─► verl's own `_compute_advantage` on the rows that count ─► shape ─► queue

With every setting off, no void rollout and no downsampling nothing is written behind verl: the update is its own, bit
for bit. Rows that are not trained keep their place in the batch, with advantage and loss mask 0.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transfer_queue import KVBatchMeta

from training.advantages.downsample import downsampled_advantages, kept_rows
from training.advantages.masks import Selection, select
from training.advantages.pipeline import EntropyOf, shape
from training.advantages.rollouts import Rollouts
from training.advantages.settings import AdvantageSettings
from training.verl_plugin.columns import is_padding, padded, read_column, read_tensors, write_rows

Estimate = Callable[[KVBatchMeta], KVBatchMeta]
"""verl's advantage computation of a batch; writes the columns `advantages` and `returns`."""


@dataclass(frozen=True)
class Plan:
    """What of the pipeline a run uses."""

    settings: AdvantageSettings
    keep_per_group: int | None
    by_std: bool
    """Downsampled groups divide by their spread (`algorithm.norm_adv_by_std_in_grpo`)."""

    @property
    def rewrites(self) -> bool:
        """Whether advantages are written anew behind verl's."""
        return self.settings.shapes or self.keep_per_group is not None


def compute(
    batch: KVBatchMeta, extra: list[dict[str, Any]], plan: Plan, estimate: Estimate, entropy: EntropyOf
) -> tuple[KVBatchMeta, dict[str, float]]:
    """Write the advantages of a batch; return it and what the pipeline did.

    Args:
        extra: `extra_fields` of each row.
        entropy: asked only with EGPO on, for the rows that it can change.
    """
    masks = read_tensors(batch, batch.keys, ["response_mask"])["response_mask"]
    rollouts = read_rollouts(batch, extra, masks)
    selection = select(rollouts, plan.settings)
    done = _estimated(batch, masks, selection, estimate)
    metrics = {f"advantage/masked/{name}": count for name, count in selection.reasons.items()}
    if not plan.rewrites:
        return done, metrics
    base, kept = _base(batch, masks, rollouts, selection, plan)
    shaped = shape(rollouts, replace(selection, trained=selection.trained & kept), base, plan.settings, entropy)
    rows = [row[: len(mask)] for row, mask in zip(shaped.advantages, masks, strict=True)]
    metrics |= {f"advantage/{name}": value for name, value in shaped.metrics.items()}
    return write_rows(batch, batch.keys, {"advantages": rows}), metrics


def read_rollouts(batch: KVBatchMeta, extra: list[dict[str, Any]], masks: list[Tensor]) -> Rollouts:
    """Return the batch as the pipeline sees it; rows of other agent loops have no turns and no marks."""
    padding = torch.tensor([is_padding(tag) for tag in batch.tags])
    facts = [fields.get("facts") or {} for fields in extra]
    logged = [fields.get("reward_extra_info") or {} for fields in extra]
    spans = [torch.tensor(f.get("spans") or [], dtype=torch.int64).view(-1, 2) for f in facts]
    rewards = [torch.tensor(fields.get("turn_scores") or [], dtype=torch.float32) for fields in extra]
    turns = max(map(len, spans), default=0)
    rewards = [torch.nn.functional.pad(r[:turns], (0, turns - min(len(r), turns))) for r in rewards]
    return Rollouts(
        groups=tuple(str(uid) for uid in read_column(batch, batch.keys, "uid")),
        mask=padded(masks).float(),
        spans=padded(spans),
        turn_rewards=torch.stack(rewards),
        acc=_marks([info.get("acc", 0.0) for info in logged]),
        void=_marks([info.get("void", 0.0) for info in logged]) & ~padding,
        overlong=_marks([f.get("overlong", False) for f in facts]) & ~padding,
        void_turn=_marks([f.get("void_turn", False) for f in facts]) & ~padding,
        padding=padding,
    )


def _marks(values: list[Any]) -> Tensor:
    return torch.tensor([bool(value) for value in values])


def _estimated(batch: KVBatchMeta, masks: list[Tensor], selection: Selection, estimate: Estimate) -> KVBatchMeta:
    """Let verl's estimator see the rows that count, and take the others out of the loss."""
    if selection.everything:
        return estimate(batch)
    counted = [key for key, here in zip(batch.keys, selection.counted.tolist(), strict=True) if here]
    if counted:
        estimate(batch.select_keys(counted))
    out = [i for i, trained in enumerate(selection.trained.tolist()) if not trained]
    zeros = [torch.zeros(len(masks[i])) for i in out]
    write_rows(batch, [batch.keys[i] for i in out], {"advantages": zeros, "returns": zeros})
    # A loss over no token at all would be 0 / 0: then one row keeps its mask, and its advantage of 0.
    unmasked = out[1:] if len(out) == len(batch) else out
    blank = [torch.zeros_like(masks[i]) for i in unmasked]
    if unmasked:
        write_rows(batch, [batch.keys[i] for i in unmasked], {"response_mask": blank, "loss_mask": blank})
    every = read_tensors(batch, batch.keys, ["advantages"])
    return write_rows(batch, batch.keys, every)  # what the queue says of a part must not stand for the whole


def _base(
    batch: KVBatchMeta, masks: list[Tensor], rollouts: Rollouts, selection: Selection, plan: Plan
) -> tuple[Tensor, Tensor]:
    """Return each rollout's own advantage, and which rollouts it was kept for."""
    if plan.keep_per_group is None:
        rows = read_tensors(batch, batch.keys, ["advantages"])["advantages"]
        first = [row[int(mask.argmax())] for row, mask in zip(rows, masks, strict=True)]
        return torch.stack(first), torch.ones_like(selection.trained)
    rewards = torch.stack([row.sum() for row in read_tensors(batch, batch.keys, ["rm_scores"])["rm_scores"]])
    here = [i for i, counted in enumerate(selection.counted.tolist()) if counted]
    groups = [rollouts.groups[i] for i in here]
    advantages, kept = torch.zeros_like(rewards), torch.zeros_like(selection.trained)
    advantages[here] = downsampled_advantages(rewards[here], groups, plan.keep_per_group, plan.by_std)
    kept[here] = kept_rows(rewards[here], groups, plan.keep_per_group)
    return advantages, kept
