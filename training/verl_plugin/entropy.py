"""Token entropies for EGPO: where they come from, and which tokens of a rollout they are read at.

verl keeps the entropy of every token (nats, whole vocabulary) when it computes old log-probs. With
`rollout_correction.bypass_mode` it skips that pass, so one more forward pass of the actor, still at the weights that
sampled, is made here: only over rollouts whose advantage is not 0 and that have a token in scope. The log-probs of the
update stay those of the rollout. Without EGPO nothing is computed.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from transfer_queue import KVBatchMeta
from verl.workers.utils.padding import response_from_nested

from training.advantages.scope import tokens_in_scope
from training.advantages.settings import EgpoSettings
from training.verl_plugin.columns import padded, read_tensors

TAIL = 8
"""Tokens before a turn in which an opening marker that ends its prompt is looked for."""


def scope_masks(
    batch: KVBatchMeta, extra: list[dict[str, Any]], live: Tensor, tokenizer: Any, settings: EgpoSettings
) -> list[Tensor]:
    """Return (tokens,) bool for each row, true where the entropy counts; all false for rows that are not live."""
    names = ["prompts", "responses", "response_mask"]
    data = read_tensors(batch, batch.keys, names)
    piece = functools.lru_cache(maxsize=None)(lambda token: tokenizer.decode([token]))
    masks: list[Tensor] = []
    for row, (prompt, response, written) in enumerate(zip(*(data[name] for name in names), strict=True)):
        scope = torch.zeros(len(response), dtype=torch.bool)
        if bool(live[row]):
            ids = [*prompt.tolist()[-TAIL:], *response.tolist()]
            for span in (extra[row].get("facts") or {}).get("spans") or []:
                _mark(scope, ids, span, piece, settings)
        masks.append(scope & written.bool())
    return masks


def _mark(
    scope: Tensor, ids: list[int], span: list[int], piece: Callable[[int], str], settings: EgpoSettings
) -> None:
    """Set one turn's tokens in scope; `ids` are the response's behind the prompt's last ones."""
    (start, end), shift = span, len(ids) - len(scope)
    before = "".join(piece(token) for token in ids[max(start + shift - TAIL, 0) : start + shift])
    pieces = [piece(token) for token in ids[start + shift : end + shift]]
    opened = before.rstrip().endswith(settings.think[0])
    for first, last in tokens_in_scope(pieces, settings, opened):
        scope[start + first : start + last] = True


def entropies(batch: KVBatchMeta, rows: list[int], infer: Callable[[KVBatchMeta], Any] | None) -> list[Tensor]:
    """Return (tokens,) entropies of the given rows of a batch.

    Args:
        infer: makes the actor compute them; None where the queue has them already.
    """
    keys = [batch.keys[i] for i in rows]
    if infer is None:
        return read_tensors(batch, keys, ["entropy"])["entropy"]
    infer(batch.select_keys(keys))
    columns = read_tensors(batch, keys, ["entropy", "response_mask"])
    nested = {name: torch.nested.as_nested_tensor(rows, layout=torch.jagged) for name, rows in columns.items()}
    return list(response_from_nested(nested["entropy"], nested["response_mask"]).unbind(0))


def entropy_and_scope(
    batch: KVBatchMeta,
    scope: list[Tensor],
    infer: Callable[[KVBatchMeta], Any] | None,
    multiple: int,
) -> tuple[Tensor, Tensor]:
    """Return (rows, tokens) float32 entropies and scope (1 or 0); 0 for rows without a token in scope.

    Args:
        multiple: rows of a pass must divide by it (the data-parallel ranks); further rows fill it up.
    """
    wanted = [i for i, mask in enumerate(scope) if bool(mask.any())]
    others = [i for i, mask in enumerate(scope) if not bool(mask.any())]
    rows = [*wanted, *others][: -(-len(wanted) // multiple) * multiple]
    values = [torch.zeros(len(mask)) for mask in scope]
    if rows:
        for i, found in zip(rows, entropies(batch, rows, infer), strict=True):
            values[i] = found.float()
    return padded(values), padded(scope).float()
