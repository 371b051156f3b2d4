"""`KEPT`: environment variables that make a process keep the memory it frees.

glibc gives blocks above 32 MB back to the system whenever they are freed, and takes them anew, page by page, the next
time. A pass that projects hidden states to a vocabulary does so with hundreds of megabytes many times over, and on a
virtual machine, where a fresh page costs most, that took two fifths of its time (`kept_memory_s` of
`scripts/bench/cpu_engine`). The variables are read at the start of a process, so they must stand in the environment of
whoever starts it; other C libraries ignore them.
"""
from __future__ import annotations

from collections.abc import Mapping

_NEVER = str(1 << 34)
KEPT: Mapping[str, str] = {
    "MALLOC_MMAP_THRESHOLD_": _NEVER,
    "MALLOC_TRIM_THRESHOLD_": _NEVER,
    # Blocks above 64 MB fit into the first arena only; other threads' arenas would map and unmap them all the same.
    "MALLOC_ARENA_MAX": "1",
}
"""Variable → value."""
