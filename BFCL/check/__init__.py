"""Checking calls: which call answers which step of a gold chain, and how well."""
from __future__ import annotations

from BFCL.check.match import GoldChain, Match, StepMatch, match

__all__ = ["GoldChain", "Match", "StepMatch", "match"]
