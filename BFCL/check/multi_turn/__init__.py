"""The leaderboard's rules for conversations: is the world right after each turn, was everything looked up?"""
from __future__ import annotations

from BFCL.check.multi_turn.check import TurnVerdict, check

__all__ = ["TurnVerdict", "check"]
