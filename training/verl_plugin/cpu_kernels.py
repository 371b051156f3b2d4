"""Compiled operations of vLLM's CPU build that its own CPU path leaves unused.

A decoding step of a small model on two cores is mostly the cost of starting operations, so one call instead of six
is what counts. (The compiled `silu_and_mul` is slower than torch's two, so it is not here.) Imported inside vLLM's
processes only.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

PROVIDER = "tool_rl"
"""Our name in vLLM's registry of operations."""


def offer() -> bool:
    """Enter the compiled norms into vLLM's registry; return whether this build has them."""
    from vllm import ir
    from vllm.platforms import current_platform

    current_platform.import_kernels()
    if not all(_on_cpu(name) for name in ("rms_norm", "fused_add_rms_norm")):
        return False
    if PROVIDER not in ir.ops.rms_norm.impls:
        ir.ops.rms_norm.register_impl(PROVIDER, supports_args=_plain_norm)(rms_norm)
        ir.ops.fused_add_rms_norm.register_impl(PROVIDER, supports_args=_plain_add_norm, inplace=True)(add_rms_norm)
    return True


def rms_norm(x: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None) -> Tensor:
    """Return x / sqrt(mean(x^2) + epsilon) * weight over the last dimension of (tokens, width)."""
    assert variance_size is None
    out = torch.empty_like(x)
    torch.ops._C.rms_norm(out, x, weight, epsilon)
    return out


def add_rms_norm(
    x: Tensor, x_residual: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None
) -> tuple[Tensor, Tensor]:
    """Add x to the residual and norm the sum, both in place; return (normed, residual)."""
    assert variance_size is None
    torch.ops._C.fused_add_rms_norm(x, x_residual, weight, epsilon)
    return x, x_residual


def _on_cpu(name: str) -> bool:
    try:
        return torch._C._dispatch_has_kernel_for_dispatch_key(f"_C::{name}", "CPU")
    except RuntimeError:  # no such operation in this build
        return False


def _fits(x: Tensor, weight: Any, variance_size: int | None) -> bool:
    """Tell whether the compiled norm takes this: two-dimensional, dense, one data type."""
    return variance_size is None and weight is not None and weight.dtype == x.dtype and x.is_contiguous()


def _plain_norm(x: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None) -> bool:
    return _fits(x, weight, variance_size)


def _plain_add_norm(
    x: Tensor, x_residual: Tensor, weight: Tensor | None, epsilon: float, variance_size: int | None = None
) -> bool:
    return _fits(x, weight, variance_size) and x_residual.is_contiguous()
