"""Dynamic sampling, gated on the outcome: a group in which all did the task, or none did, teaches nothing true.

DAPO (arXiv 2503.14476) drops groups whose reward has no spread. A graduated reward nearly always has some, so that rule
keeps groups whose members differ in style only, and training on these has collapsed runs. The gate therefore looks at
the binary outcome `acc`. Here groups are dropped from the step; verl's `algorithm.filter_groups` with `metric: acc`
samples other prompts in their place.

Degenerate cases: a group of one is undecided; so is a group without members.
"""
from __future__ import annotations

from torch import Tensor

from training.advantages.groups import group_size, group_sum


def undecided(acc: Tensor, group: Tensor, member: Tensor) -> Tensor:
    """Return (rows,) bool, the rows whose group's members all have the same outcome.

    Args:
        acc: (rows,) bool outcomes.
        group: (rows,) int64 group numbers.
        member: (rows,) bool, whose outcome counts.
    """
    done = group_sum(acc.double(), group, member)
    return (done == 0) | (done == group_size(group, member))
