"""What a run without an accelerator sets, and that it does what it is there for."""
from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from training.launch.cpu_env import cpu_environment, stage_environment

FAULTS = """
import ctypes, resource, threading
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
SIZE = 96 << 20

def touch():
    block = libc.malloc(SIZE)
    ctypes.memset(block, 1, SIZE)
    libc.free(block)

def rounds():
    touch()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(4):
        touch()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 4)

rounds()
thread = threading.Thread(target=rounds)
thread.start()
thread.join()
"""


def faults(environ: dict[str, str]) -> list[float]:
    """Return the page faults of taking 96 MB once more, in the first thread and in another."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run(
        [sys.executable, "-c", FAULTS], env={**kept, **environ}, capture_output=True, text=True, timeout=60, check=True
    )
    return [float(line) for line in run.stdout.split()]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_was_freed_is_not_taken_anew_page_by_page() -> None:
    assert min(faults({})) > 1000, "glibc keeps large blocks by itself now: environment/core/memory.py can go"
    assert max(faults(stage_environment("cpu", {}))) < 100


def test_what_the_user_has_set_stays() -> None:
    assert stage_environment("cpu", {"MALLOC_ARENA_MAX": "4"})["MALLOC_ARENA_MAX"] == "4"
    assert stage_environment("cuda", {"A": "b"}) == {"A": "b"}


def test_the_cores_are_shared_by_the_ranks() -> None:
    alone, shared = cpu_environment(1), cpu_environment(2)
    assert int(alone["OMP_NUM_THREADS"]) >= int(shared["OMP_NUM_THREADS"]) >= 1
    assert set(stage_environment("cpu", {})) <= set(alone), "workers on other nodes get the same"
