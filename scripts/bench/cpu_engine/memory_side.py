"""Seconds of log-prob passes over 2,048 positions, one a line, in a process of its own: `python memory_side.py PASSES`.

Hidden states and weights are random and small, so that no probability is a number too small for the processor.
"""
from __future__ import annotations

import sys
import time

import torch

from training.verl_plugin.selected import selected_log_probs

POSITIONS, WIDTH, VOCABULARY = 2048, 576, 49_152


def main(passes: int) -> None:
    """Time the passes behind one to warm up."""
    torch.manual_seed(0)
    hidden = torch.randn(POSITIONS, WIDTH).mul_(0.1).bfloat16().requires_grad_(True)
    weight = torch.randn(VOCABULARY, WIDTH).bfloat16()
    labels = torch.randint(0, VOCABULARY, (POSITIONS,))
    for number in range(passes + 1):
        began = time.perf_counter()
        log_probs, _ = selected_log_probs(hidden, weight, labels)
        log_probs.mean().backward()
        hidden.grad = None
        if number:
            print(time.perf_counter() - began)


if __name__ == "__main__":
    main(int(sys.argv[1]))
