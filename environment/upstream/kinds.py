"""Names of the ways to open a world and of whom to ask; nothing heavy is imported for them."""
from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """What a world does about calls that are not recorded."""

    RECORDED = "recorded"
    RECORD = "record"
    SIMULATED = "simulated"


class UpstreamKind(StrEnum):
    """Who is asked."""

    SEED = "seed"
    RAPIDAPI = "rapidapi"
    NONE = "none"
