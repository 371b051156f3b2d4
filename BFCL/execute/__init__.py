"""The simulated worlds of the leaderboard's multi-turn rows: fresh for every rollout, driven by literal calls alone."""
from __future__ import annotations

from BFCL.execute.world import World

__all__ = ["World"]
