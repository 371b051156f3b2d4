"""One forward pass over rollouts of several prompts: every prompt once, no padding.

GRPO's n rollouts of a prompt differ only after it. All rows of a micro-batch are laid end to end in one sequence, a
shared prompt once, and attention is computed segment by segment: a row sees its prompt and itself. With prompts of P
and continuations of R tokens the plain pass costs n (P + max R) tokens, this one P + sum R; norms, projections and MLP
run on one long matrix. Gradients of all rollouts flow into the prompt, so the result is the plain one up to rounding.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from environment.core.errors import ConfigError

ATTENTION = "tool_rl_packed"
"""Name of our attention in transformers' registry."""
Span = tuple[int, int]


@dataclass(frozen=True)
class Segment:
    """A stretch of the packed sequence that attends to nothing outside: a head, and tails that each see the head."""

    head: Span
    tails: tuple[Span, ...] = ()


@dataclass(frozen=True)
class Packed:
    """Rows laid end to end."""

    input_ids: Tensor
    """(1, tokens)."""
    position_ids: Tensor
    """(1, tokens), counted from the start of each row."""
    segments: tuple[Segment, ...]
    """In the order of the tokens, leaving none out."""
    rows: tuple[Tensor, ...]
    """For each row, (length,) where its tokens lie; rows that share a prompt share those places."""


def pack(sequences: Sequence[Tensor], prompts: Sequence[int]) -> Packed:
    """Lay rows end to end, those with equal prompts behind one copy of it.

    Args:
        sequences: (length,) token ids a row.
        prompts: length of each row's prompt; 0 where it has none and shares nothing.
    """
    ids: list[Tensor] = []
    positions: list[Tensor] = []
    segments: list[Segment] = []
    rows: list[Tensor | None] = [None] * len(sequences)
    end = 0

    def lay(tokens: Tensor, first: int) -> Span:
        nonlocal end
        ids.append(tokens)
        positions.append(torch.arange(first, first + len(tokens)))
        span, end = (end, end + len(tokens)), end + len(tokens)
        return span

    for members in sharing(sequences, prompts):
        # A row alone is one causal stretch; so is a group's prompt.
        shared = prompts[members[0]] if len(members) > 1 else len(sequences[members[0]])
        head = lay(sequences[members[0]][:shared], 0)
        tails = tuple(lay(sequences[i][shared:], shared) for i in members) if len(members) > 1 else ()
        for i, tail in zip(members, tails or [(end, end)], strict=True):
            rows[i] = torch.cat([torch.arange(*head), torch.arange(*tail)])
        segments.append(Segment(head, tuple(t for t in tails if t[0] < t[1])))
    placed = tuple(row for row in rows if row is not None)
    return Packed(torch.cat(ids)[None], torch.cat(positions)[None], tuple(segments), placed)


def sharing(sequences: Sequence[Tensor], prompts: Sequence[int]) -> list[list[int]]:
    """Return the rows in groups of one prompt; a row without a prompt is a group of its own."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, (sequence, prompt) in enumerate(zip(sequences, prompts, strict=True)):
        key = tuple(sequence[:prompt].tolist()) if prompt else (-1, i)
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def hidden_states(model: Any, packed: Packed) -> Tensor:
    """Return (tokens, width) hidden states of the packed sequence.

    Args:
        model: the decoder without its output head, prepared by `use_packed_attention`.
    """
    return model(
        input_ids=packed.input_ids, position_ids=packed.position_ids, segments=packed.segments, use_cache=False
    ).last_hidden_state[0]


def use_packed_attention(model: Any) -> None:
    """Make a transformers model attend by segments; it then wants `segments` with every call."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(ATTENTION, packed_attention)
    AttentionMaskInterface.register(ATTENTION, _no_mask)
    model.set_attn_implementation(ATTENTION)


def _no_mask(*_args: Any, **_kwargs: Any) -> None:
    """Stand in for transformers' masks: segments say who sees whom."""


def packed_attention(
    _module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    _attention_mask: Tensor | None,
    *,
    segments: tuple[Segment, ...],
    scaling: float,
    **more: Any,
) -> tuple[Tensor, None]:
    """Attend within segments; a transformers attention function.

    Args:
        query: (1, heads, tokens, head width); key and value may have fewer heads, each serving several of the query's.

    Returns:
        (1, tokens, heads, head width) and no weights.

    Raises:
        ConfigError: the model's attention has something this one lacks, which would otherwise be left out in silence.
    """
    lacking = [name for name in ("dropout", "sliding_window", "softcap", "s_aux") if more.get(name)]
    if lacking:
        fix = "use a model without it, or train on a GPU"
        raise ConfigError("the CPU engine can't attend as this model does", got=", ".join(lacking), fix=fix)
    # Split once: the gradient of a split is one concatenation, that of slices a full-sized tensor each.
    sizes = [last - first for segment in segments for first, last in (segment.head, *segment.tails)]
    q, k, v = (iter(x.split(sizes, 2)) for x in (query, key, value))
    out: list[Tensor] = []
    for segment in segments:
        head_k, head_v = next(k), next(v)
        out.append(_attend(next(q), head_k, head_v, None, scaling))
        for first, last in segment.tails:
            tail_k, tail_v = torch.cat([head_k, next(k)], 2), torch.cat([head_v, next(v)], 2)
            mask = _tail_mask(head_k.shape[2], last - first)
            out.append(_attend(next(q), tail_k, tail_v, mask, scaling))
    return torch.cat(out, 2).transpose(1, 2), None


def _attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float) -> Tensor:
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=mask is None, scale=scaling, enable_gqa=True
    )


def _tail_mask(head: int, tail: int) -> Tensor:
    """Return (tail, head + tail) true where a token of the tail may look: the head, and the tail up to itself."""
    return torch.ones(tail, head + tail, dtype=torch.bool).tril(head)
