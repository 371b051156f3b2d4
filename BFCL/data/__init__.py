"""The leaderboard's rows, accepted answers and function documents, read from its official package."""
from __future__ import annotations

from BFCL.data.package import available, home
from BFCL.data.rows import MultiTurnRow, SingleTurnRow, multi_turn_row, multi_turn_rows, single_turn_rows

__all__ = [
    "MultiTurnRow",
    "SingleTurnRow",
    "available",
    "home",
    "multi_turn_row",
    "multi_turn_rows",
    "single_turn_rows",
]
