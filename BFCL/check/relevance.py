"""The leaderboard's rule for rows without accepted answers: only whether something was called counts.

    irrelevance, live_irrelevance   right where nothing was called
    live_relevance                  right where at least one call was made, whichever it is

What can't be read as calls is no call.
"""
from __future__ import annotations

from collections.abc import Sequence

from BFCL.check.ast.call import Call
from BFCL.check.ast.check import RIGHT, Verdict

CALLED = "irrelevance_error:decoder_success"
NOT_CALLED = "relevance_error:decoder_failed"


def check_relevance(category: str, calls: Sequence[Call] | None) -> Verdict:
    """Return the verdict on one row.

    Args:
        category: one of the categories of relevance.
        calls: decoded calls; None where the text could not be read.
    """
    called = calls is not None and any(calls)
    if "irrelevance" in category:
        return Verdict(CALLED) if called else RIGHT
    return RIGHT if called else Verdict(NOT_CALLED)
