"""How a stage tells the runner how far it is: a JSON line on stdout."""

from __future__ import annotations

import json
import time
from collections.abc import Callable


def announcer(note: str, every_s: float = 0.5) -> Callable[[int, int], None]:
    """Return a function of (done, total) that prints a progress line, at most every so many seconds."""
    last = 0.0

    def announce(done: int, total: int) -> None:
        nonlocal last
        if done >= total or time.monotonic() - last >= every_s:
            last = time.monotonic()
            print(json.dumps({"progress": [done, total], "note": note}), flush=True)

    return announce


def say(**facts: object) -> None:
    """Print facts of a stage as one JSON line into its log."""
    print(json.dumps(facts, ensure_ascii=False, default=str), flush=True)
