"""The Berkeley Function Calling Leaderboard, version 4: its single-turn and multi-turn categories that run offline."""
from __future__ import annotations

from evaluation.suites.bfcl.suite import BfclSuite, Options, open_suite

__all__ = ["BfclSuite", "Options", "open_suite"]
