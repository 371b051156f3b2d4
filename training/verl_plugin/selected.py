"""Log-probabilities of chosen tokens straight from hidden states, without logits of the others.

For position t with hidden state h_t, output weights W (vocabulary, width), temperature T and label y_t:

    z = W h_t / T,   log p(y_t) = z[y_t] - logsumexp(z),   H = logsumexp(z) - sum softmax(z) * z
    d log p(y_t) / dz_j = [j = y_t] - p_j,   dH / dz_j = -p_j (log p_j + H)

Only positions that carry loss are projected, in chunks, and the backward pass projects again instead of keeping the
(tokens, vocabulary) matrix: with 49 152 entries that matrix and its copies are what fills memory and time on a CPU.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

CHUNK = 512
"""Positions projected at once; 512 x 49 152 float32 is 100 MB."""


class _SelectedLogProb(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, temperature: float, with_entropy: bool
    ) -> tuple[Tensor, Tensor]:
        log_probs = hidden.new_empty(len(hidden), dtype=torch.float32)
        entropy = hidden.new_zeros(len(hidden) if with_entropy else 0, dtype=torch.float32)
        normalisers = torch.empty_like(log_probs)
        for start in range(0, len(hidden), CHUNK):
            rows = slice(start, start + CHUNK)
            logits = _logits(hidden[rows], weight, temperature)
            normalisers[rows] = torch.logsumexp(logits, -1)
            chosen = logits.gather(1, labels[rows, None]).squeeze(1)
            log_probs[rows] = chosen - normalisers[rows]
            if with_entropy:
                probs = (logits - normalisers[rows, None]).exp_()
                entropy[rows] = normalisers[rows] - probs.mul_(logits).sum(-1)
        ctx.save_for_backward(hidden, weight, labels, normalisers, entropy)
        ctx.temperature = temperature
        ctx.set_materialize_grads(False)
        return log_probs, entropy

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, weight, labels, normalisers, entropy = ctx.saved_tensors
        of_log_probs, of_entropy = grads
        d_hidden = torch.empty_like(hidden)
        d_weight = torch.zeros_like(weight, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        for start in range(0, len(hidden), CHUNK):
            rows = slice(start, start + CHUNK)
            log_p = _logits(hidden[rows], weight, ctx.temperature).sub_(normalisers[rows, None])
            d_logits = torch.zeros_like(log_p) if of_log_probs is None else _chosen(log_p, labels, of_log_probs, rows)
            if of_entropy is not None:
                d_logits -= log_p.exp() * (log_p + entropy[rows, None]) * of_entropy[rows, None]
            d_logits = d_logits.div_(ctx.temperature).to(weight.dtype)
            d_hidden[rows] = d_logits @ weight
            if d_weight is not None:
                d_weight += d_logits.T @ hidden[rows]
        return d_hidden, d_weight if d_weight is None else d_weight.to(weight.dtype), None, None, None


def _chosen(log_p: Tensor, labels: Tensor, upstream: Tensor, rows: slice) -> Tensor:
    """Return the gradient of `upstream * log p(label)` by the logits of a chunk."""
    gradient = log_p.exp().mul_(-upstream[rows, None])
    return gradient.scatter_add_(1, labels[rows, None], upstream[rows, None].float())


def _logits(hidden: Tensor, weight: Tensor, temperature: float) -> Tensor:
    logits = (hidden @ weight.T).float()
    return logits if temperature == 1.0 else logits.div_(temperature)


def selected_log_probs(
    hidden: Tensor, weight: Tensor, labels: Tensor, temperature: float = 1.0, with_entropy: bool = False
) -> tuple[Tensor, Tensor]:
    """Return log-probabilities and entropies (nats) of the given positions.

    Args:
        hidden: (positions, width) hidden states that predict `labels`; bf16 or float32.
        weight: (vocabulary, width) output embedding.
        labels: (positions,) token ids.
        temperature: divides the logits; above 0.
        with_entropy: also compute the entropy; else an empty tensor.

    No position gives two empty tensors. Gradients reach `hidden` and `weight` through both results.
    """
    return _SelectedLogProb.apply(hidden, weight, labels, temperature, with_entropy)  # type: ignore[return-value]
