"""verl's FSDP engine on a CPU, with the waste taken out of its forward and backward pass.

What differs from `FSDPEngineWithLMHead`, each worth a factor on two cores (`scripts/bench/rl_step` has the figures):

* rollouts of one prompt form a micro-batch and share the prompt's pass (`prefix`);
* rows are padded on the right without a mask, which a causal model does not need;
* only positions with loss are projected to the vocabulary (`selected`);
* micro-batches whose advantages are all zero are left out of an update: their policy gradient is zero;
* bf16 weights are gathered once a mini-batch, not before every pass.

With several data-parallel ranks every rank must run the same number of passes, so there verl's own micro-batches are
used and no prompt is shared; the other two savings stay.
"""
from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from tensordict import TensorDict
from torch import Tensor
from verl.utils import tensordict_utils as tu
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine.utils import detach_tree, postprocess_batch_func, prepare_micro_batches

from training.verl_plugin.prefix import Rows, hidden_states, shared_prompt
from training.verl_plugin.selected import selected_log_probs


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")
class CpuFSDPEngine(FSDPEngineWithLMHead):
    """Actor, reference and SFT engine of the CPU profiles."""

    def _build_module(self) -> Any:
        module = super()._build_module()
        module.forward = types.MethodType(_forward, module)
        return module

    def forward_backward_batch(
        self, data: TensorDict, loss_function: Callable[..., Any] | None, forward_only: bool = False
    ) -> Any:
        """Run a mini-batch, micro-batch by micro-batch; gradients accumulate unless `forward_only`."""
        tokens = data["loss_mask"].sum()
        torch.distributed.all_reduce(tokens, group=self.get_data_parallel_group())
        tu.assign_non_tensor(
            data, sp_size=1, batch_num_tokens=tokens.item(), dp_size=self.get_data_parallel_size()
        )
        batches, indices = self._micro_batches(data)
        keep_output = tu.get_non_tensor_data(data=data, key="return_model_output", default=False)
        batches = batches if forward_only else _with_signal(batches, self.get_data_parallel_size())
        outputs = []
        for position, batch in enumerate(batches):
            last = position == len(batches) - 1
            self.module.set_reshard_after_backward(last)
            with torch.set_grad_enabled(not forward_only), self._gradient_sync_context(is_last_micro_batch=last):
                loss, output = self.forward_step(batch, loss_function=loss_function, forward_only=forward_only)
                if not forward_only:
                    loss.backward()
                    if not keep_output:
                        output.pop("model_output", None)
            outputs.append(output)
        if indices is not None:
            tu.assign_non_tensor(data, use_dynamic_bsz=True)
        return postprocess_batch_func(output_lst=outputs, indices=indices, data=data)

    def _micro_batches(self, data: TensorDict) -> tuple[list[TensorDict], list[list[int]] | None]:
        if self.get_data_parallel_size() > 1:
            return prepare_micro_batches(data=data, dp_group=self.get_data_parallel_group())
        limit = int(tu.get_non_tensor_data(data=data, key="max_token_len_per_gpu", default=0) or 4096)
        indices = group_rows(list(data["input_ids"].unbind()), _prompt_lengths(data), limit)
        return [tu.index_select_tensor_dict(data, rows) for rows in indices], indices

    def forward_step(
        self, micro_batch: TensorDict, loss_function: Callable[..., Any] | None, forward_only: bool
    ) -> tuple[Any, dict[str, Any]]:
        """Return the loss (with its graph) and the outputs of one micro-batch."""
        sequences = list(micro_batch["input_ids"].unbind())
        rows = Rows(sequences, _wanted(micro_batch), shared_prompt(sequences, _prompt_lengths(micro_batch)))
        temperature = _temperature(micro_batch)
        with_entropy = bool(tu.get_non_tensor_data(data=micro_batch, key="calculate_entropy", default=False))
        log_probs, entropy = self.module(rows=rows, temperature=temperature, with_entropy=with_entropy)
        model_output = {"log_probs": _scatter(log_probs, rows, micro_batch["input_ids"])}
        if with_entropy:
            model_output["entropy"] = _scatter(entropy, rows, micro_batch["input_ids"])
        loss, metrics = torch.tensor(1.0), {}
        if loss_function is not None:
            loss, metrics = loss_function(
                model_output=model_output, data=micro_batch, dp_group=self.get_data_parallel_group()
            )
        return loss, {"model_output": detach_tree(model_output), "loss": loss.detach().item(), "metrics": metrics}


def _with_signal(batches: list[TensorDict], ranks: int) -> list[TensorDict]:
    """Return the micro-batches that can move a weight; one at least, for the loss and metrics of the step.

    A loss of entropy or of distance to a reference moves weights without advantages, so then all stay; so they do with
    several ranks, which must run equally many passes.
    """
    first = batches[0]
    if ranks > 1 or "advantages" not in first.keys() or "ref_log_prob" in first.keys():  # noqa: SIM118
        return batches
    if tu.get_non_tensor_data(data=first, key="calculate_entropy", default=False):
        return batches
    return [b for b in batches if bool((b["advantages"].values() != 0).any())] or [first]


def group_rows(sequences: list[Tensor], prompts: list[int], limit: int) -> list[list[int]]:
    """Return row indices in micro-batches: rows of one prompt together, then by length, each about `limit` tokens.

    A prompt's tokens count once. Every row appears exactly once; a row above the limit stands alone.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, sequence in enumerate(sequences):
        groups.setdefault(tuple(sequence[: prompts[i]].tolist()) if prompts[i] else (-1,), []).append(i)
    single = [i for rows in groups.values() if len(rows) == 1 for i in rows] + groups.pop((-1,), [])
    batches = [part for key, rows in groups.items() if len(rows) > 1 for part in _split(rows, sequences, len(key), limit)]
    return batches + _split(sorted(set(single)), sequences, 0, limit)


def _split(rows: list[int], sequences: list[Tensor], prompt: int, limit: int) -> list[list[int]]:
    """Cut rows, longest first, so that padded tokens stay within the limit."""
    parts: list[list[int]] = []
    for i in sorted(rows, key=lambda i: -len(sequences[i])):
        width = len(sequences[parts[-1][0]]) - prompt if parts else 0
        if parts and prompt + (len(parts[-1]) + 1) * width <= limit:
            parts[-1].append(i)
        else:
            parts.append([i])
    return parts


def _forward(self: Any, rows: Rows, temperature: float, with_entropy: bool) -> tuple[Tensor, Tensor]:
    """Stand in for the causal model's forward inside FSDP's root, where its parameters are whole."""
    labels = torch.cat([s.roll(-1)[w] for s, w in zip(rows.sequences, rows.wanted, strict=True)])
    hidden = hidden_states(self.model, rows)
    return selected_log_probs(hidden, self.lm_head.weight, labels, temperature, with_entropy)


def _wanted(data: TensorDict) -> list[Tensor]:
    """Return per row where a prediction carries loss: position t for token t + 1."""
    masks = list(data["loss_mask"].unbind())
    wanted = []
    for sequence, mask in zip(data["input_ids"].unbind(), masks, strict=True):
        full = torch.zeros(len(sequence), dtype=torch.bool)
        full[len(sequence) - len(mask) :] = mask.bool()
        shifted = full.roll(-1)
        shifted[-1] = False
        wanted.append(shifted)
    return wanted


def _prompt_lengths(data: TensorDict) -> list[int]:
    """Return prompt lengths of rollout rows; zeros for SFT rows, which have no prompt column."""
    if "prompts" not in data.keys():  # noqa: SIM118  (a TensorDict iterates over rows)
        return [0] * len(data)
    return [int(n) for n in data["prompts"].offsets().diff()]


def _temperature(data: TensorDict) -> float:
    value = data["temperature"]
    return float(value.flatten()[0]) if isinstance(value, Tensor) else float(value)


def _scatter(values: Tensor, rows: Rows, like: Tensor) -> Tensor:
    """Return a nested tensor of the shape of `like` with `values` at the wanted positions and zeros elsewhere."""
    flat = torch.zeros(like.values().shape[0], dtype=values.dtype)
    where = torch.cat([w for w in rows.wanted]).nonzero().squeeze(1)
    return torch.nested.nested_tensor_from_jagged(flat.index_put((where,), values), like.offsets())
