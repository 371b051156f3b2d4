"""How the time of a reader grows with its text, without what else goes on in the process."""
from __future__ import annotations

import gc
import time
from collections.abc import Callable

TRIES = 3


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of a few calls; the collector, whose time grows with the whole heap, is off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        taken: list[float] = []
        for _ in range(TRIES):
            begun = time.process_time()
            work()
            taken.append(time.process_time() - begun)
        return min(taken)
    finally:
        if was_on:
            gc.enable()
