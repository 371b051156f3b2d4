"""verl's FSDP engine on a CPU, with the waste taken out of its forward and backward pass.

What differs from `FSDPEngineWithLMHead` (`scripts/bench/cpu_engine` and `rl_step` measure it):

* rows lie end to end without padding, rollouts of one prompt behind one copy of it (`packing`);
* only positions with loss are projected to the vocabulary (`selected`);
* rollouts without advantage are left out of an update: their policy gradient is zero (`grouping`);
* bf16 weights are gathered once a mini-batch, not before every pass;
* with `TOOL_RL_TRAIN_LAYERS=n` only the last n decoder layers are trained, the rest runs forward without a graph.

With several data-parallel ranks every rank must run the same number of passes, so there verl's own micro-batches are
used.
"""
from __future__ import annotations

import os
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from verl.utils import tensordict_utils as tu
from verl.workers.engine.base import EngineRegistry
from verl.workers.engine.fsdp.transformer_impl import FSDPEngineWithLMHead
from verl.workers.engine.utils import detach_tree, postprocess_batch_func, prepare_micro_batches

from training.launch.cpu_env import TRAIN_LAYERS
from training.verl_plugin.grouping import group_rows, has_column, rows_with_signal
from training.verl_plugin.packing import Packed, hidden_states, pack, use_packed_attention
from training.verl_plugin.selected import selected_log_probs

_Base: Any = FSDPEngineWithLMHead
# verl's registration decorator hides the class from type checkers.

MOST_TOKENS = 4096
"""Tokens of a micro-batch; longer ones are no faster on a CPU, they only take memory."""


@EngineRegistry.register(model_type="language_model", backend=["fsdp", "fsdp2"], device="cpu")
class CpuFSDPEngine(_Base):
    """Actor, reference and SFT engine of the CPU profiles."""

    module: Any

    def _build_module(self) -> Any:
        module: Any = super()._build_module()
        use_packed_attention(module.model)
        module.forward = types.MethodType(_forward, module)
        if not self.engine_config.forward_only:
            train_last_layers(module, int(os.environ.get(TRAIN_LAYERS) or 0))
        return module

    def forward_backward_batch(
        self, data: Any, loss_function: Callable[..., Any] | None, forward_only: bool = False
    ) -> Any:
        """Run a mini-batch, micro-batch by micro-batch; gradients accumulate unless `forward_only`."""
        tokens = data["loss_mask"].sum()
        torch.distributed.all_reduce(tokens, group=self.get_data_parallel_group())
        tu.assign_non_tensor(data, sp_size=1, batch_num_tokens=tokens.item(), dp_size=self.get_data_parallel_size())
        keep_output = bool(tu.get_non_tensor_data(data=data, key="return_model_output", default=False))
        batches, indices = self._micro_batches(data, forward_only or keep_output)
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

    def _micro_batches(self, data: Any, every_row: bool) -> tuple[list[Any], list[list[int]] | None]:
        if self.get_data_parallel_size() > 1:
            batches: Any = prepare_micro_batches(data=data, dp_group=self.get_data_parallel_group())
            return batches
        limit: Any = tu.get_non_tensor_data(data=data, key="max_token_len_per_gpu", default=0)
        entropy = bool(tu.get_non_tensor_data(data=data, key="calculate_entropy", default=False))
        rows = list(range(len(data))) if every_row or entropy else rows_with_signal(data)
        tokens = min(int(limit or MOST_TOKENS), MOST_TOKENS)
        indices = group_rows(_unbound(data, "input_ids"), _prompt_lengths(data), rows, tokens)
        return [tu.index_select_tensor_dict(data, part) for part in indices], indices

    def forward_step(
        self, micro_batch: Any, loss_function: Callable[..., Any] | None, forward_only: bool
    ) -> tuple[Any, dict[str, Any]]:
        """Return the loss (with its graph) and the outputs of one micro-batch."""
        sequences, wanted = _unbound(micro_batch, "input_ids"), _wanted(micro_batch)
        packed = pack(sequences, _prompt_lengths(micro_batch))
        places = torch.cat([row[w] for row, w in zip(packed.rows, wanted, strict=True)])
        labels = torch.cat([s.roll(-1)[w] for s, w in zip(sequences, wanted, strict=True)])
        with_entropy = bool(tu.get_non_tensor_data(data=micro_batch, key="calculate_entropy", default=False))
        log_probs, entropy = self.module(
            packed=packed, places=places, labels=labels, temperature=_temperature(micro_batch),
            with_entropy=with_entropy,
        )  # fmt: skip
        model_output = {"log_probs": _scatter(log_probs, wanted, micro_batch["input_ids"])}
        if with_entropy:
            model_output["entropy"] = _scatter(entropy, wanted, micro_batch["input_ids"])
        loss, metrics = torch.tensor(1.0), {}
        if loss_function is not None:
            loss, metrics = loss_function(
                model_output=model_output, data=micro_batch, dp_group=self.get_data_parallel_group()
            )
        return loss, {"model_output": detach_tree(model_output), "loss": loss.detach().item(), "metrics": metrics}


def train_last_layers(module: Any, count: int) -> None:
    """Leave gradients to the last `count` decoder layers and the final norm; 0 leaves them to every weight."""
    if count <= 0:
        return
    module.requires_grad_(False)
    for layer in module.model.layers[-count:]:
        layer.requires_grad_(True)
    module.model.norm.requires_grad_(True)


def _forward(
    self: Any, packed: Packed, places: Tensor, labels: Tensor, temperature: float, with_entropy: bool
) -> tuple[Tensor, Tensor]:
    """Stand in for the causal model's forward inside FSDP's root, where its parameters are whole."""
    hidden = hidden_states(self.model, packed)
    return selected_log_probs(hidden[places], self.lm_head.weight, labels, temperature, with_entropy)


def _wanted(data: Any) -> list[Tensor]:
    """Return per row where a prediction carries loss: position t for token t + 1."""
    wanted = []
    for sequence, mask in zip(_unbound(data, "input_ids"), _unbound(data, "loss_mask"), strict=True):
        full = torch.zeros(len(sequence), dtype=torch.bool)
        full[len(sequence) - len(mask) :] = mask.bool()
        shifted = full.roll(-1)
        shifted[-1] = False
        wanted.append(shifted)
    return wanted


def _unbound(data: Any, name: str) -> list[Tensor]:
    """Return the rows of a nested column."""
    return list(data[name].unbind(0))


def _prompt_lengths(data: Any) -> list[int]:
    """Return prompt lengths of rollout rows; zeros for SFT rows, which have no prompt column."""
    if not has_column(data, "prompts"):
        return [0] * len(data)
    return [int(n) for n in data["prompts"].offsets().diff()]


def _temperature(data: Any) -> float:
    value = data["temperature"]
    return float(value.flatten()[0]) if isinstance(value, Tensor) else float(value)


def _scatter(values: Tensor, wanted: list[Tensor], like: Any) -> Tensor:
    """Return a nested tensor of the shape of `like` with `values` at the wanted positions and zeros elsewhere."""
    flat = torch.zeros(like.values().shape[0], dtype=values.dtype)
    where = torch.cat(wanted).nonzero().squeeze(1)
    return torch.nested.nested_tensor_from_jagged(flat.index_put((where,), values), like.offsets())
