"""The Berkeley leaderboard's rules for calls: which decoded calls answer a row, in Python, Java and JavaScript."""
from __future__ import annotations

from BFCL.check.ast.check import Verdict, check

__all__ = ["Verdict", "check"]
