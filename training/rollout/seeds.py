"""Seeds of single rollouts: every sampled trajectory can be drawn again from the run's seed and its own address."""
from __future__ import annotations

import hashlib


def rollout_seed(run_seed: int, step: int, task_id: str, sample: int) -> int:
    """Return a 31-bit seed; different for every (run, step, task, sample)."""
    text = f"{run_seed}/{step}/{task_id}/{sample}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big") >> 1
