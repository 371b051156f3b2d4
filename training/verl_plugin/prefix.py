"""One forward pass over rollouts that share their prompt: the prompt once, the rest on top of its keys and values.

GRPO's n rollouts of a prompt differ only after it. With prompts of P and continuations of R tokens the plain pass costs
n (P + R) tokens, this one P + n R. Gradients of all rollouts flow into the prompt through the expanded cache, so the
result is the plain one up to rounding. Rows are padded on the right: under a causal mask no real token sees padding.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """Token rows of one micro-batch and the positions whose log-probability is wanted.

    `sequences[i]` is (length_i,) token ids; `wanted[i]` is (length_i,) bool, true at t where the model's prediction of
    token t + 1 is wanted (so never true at the last position).
    """

    sequences: Sequence[Tensor]
    wanted: Sequence[Tensor]
    prompt: int
    """Tokens that all rows have in common at the start; 0 where nothing is shared."""


def shared_prompt(sequences: Sequence[Tensor], prompts: Sequence[int]) -> int:
    """Return the length of the prompt if all rows have the same one and are at least two, else 0."""
    if len(sequences) < 2 or len(set(prompts)) != 1:
        return 0
    length, first = prompts[0], sequences[0]
    if any(not torch.equal(s[:length], first[:length]) for s in sequences[1:]):
        return 0
    return length


def hidden_states(model: Any, rows: Rows) -> Tensor:
    """Return (wanted positions, width) hidden states, row by row in order.

    Args:
        model: the decoder without its output head (`AutoModel`), called with `input_ids`, `position_ids`,
            `past_key_values`.
    """
    if rows.prompt:
        return _with_shared_prompt(model, rows)
    states = model(input_ids=_padded(rows.sequences), use_cache=False).last_hidden_state
    return _pick(states, rows.wanted)


def _with_shared_prompt(model: Any, rows: Rows) -> Tensor:
    from transformers import DynamicCache

    count, prompt = len(rows.sequences), rows.prompt
    head = model(input_ids=rows.sequences[0][None, :prompt], use_cache=True)
    cache = DynamicCache()
    for layer, (keys, values) in enumerate(_keys_and_values(head.past_key_values)):
        cache.update(keys.expand(count, -1, -1, -1), values.expand(count, -1, -1, -1), layer)
    tails = [s[prompt:] for s in rows.sequences]
    width = max(len(t) for t in tails)
    positions = torch.arange(prompt, prompt + width)[None].expand(count, -1)
    states = model(
        input_ids=_padded(tails), position_ids=positions, past_key_values=cache, use_cache=True
    ).last_hidden_state
    last = head.last_hidden_state[:, prompt - 1 : prompt].expand(count, -1, -1)
    return _pick(torch.cat([last, states], 1), [w[prompt - 1 :] for w in rows.wanted])


def _keys_and_values(cache: Any) -> list[tuple[Tensor, Tensor]]:
    return [(layer.keys, layer.values) for layer in cache.layers]


def _padded(sequences: Sequence[Tensor]) -> Tensor:
    return torch.nn.utils.rnn.pad_sequence(list(sequences), batch_first=True)


def _pick(states: Tensor, wanted: Sequence[Tensor]) -> Tensor:
    return torch.cat([states[i, : len(w)][w] for i, w in enumerate(wanted)])
