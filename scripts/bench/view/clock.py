"""Seconds of the wall and of the processor between two points, and the peak of memory."""
from __future__ import annotations

import resource
import time


class Clock:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self, name: str) -> dict[str, float]:
        """Return `NAME_s` and `NAME_cpu_s` so far."""
        return {f"{name}_s": time.perf_counter() - self._wall, f"{name}_cpu_s": time.process_time() - self._cpu}


def peak_mib() -> float:
    """Return the most memory this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
