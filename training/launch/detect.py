"""What this machine has, found without importing torch: cores, memory, GPUs, free disk."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """Hardware as the launcher sees it."""

    cores: int
    memory_gib: float
    gpus: tuple[str, ...]
    """Names of usable GPUs; CUDA_VISIBLE_DEVICES is respected."""


def detect_machine() -> Machine:
    """Return this machine's hardware. Never fails; what can't be found counts as absent."""
    return Machine(cores=_cores(), memory_gib=_memory_gib(), gpus=_gpus())


def choose_profile(machine: Machine, ray_address: str | None = None) -> tuple[str, str]:
    """Return the profile that fits the machine and the reason in words."""
    count = len(machine.gpus)
    if count and ray_address:
        return "multinode", f"RAY_ADDRESS is set and this machine has {count} GPU(s)"
    if count >= 8:
        return "gpu_8x", f"{count} GPUs found ({machine.gpus[0]})"
    if count:
        return "gpu", f"{count} GPU(s) found ({machine.gpus[0]})"
    return "cpu_smol", f"no GPU found; {machine.cores} CPU cores, {machine.memory_gib:.0f} GiB"


def has_module(name: str) -> bool:
    """Tell whether a top-level module could be imported, without importing it."""
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def free_disk(path: Path) -> int:
    """Return the free bytes of the file system that would hold `path`."""
    place = path
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory_gib() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    except (ValueError, OSError):
        return 0.0


def _gpus() -> tuple[str, ...]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return ()
    query = [tool, "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    names = tuple(line.strip() for line in done.stdout.splitlines() if line.strip()) if done.returncode == 0 else ()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return names
    wanted = [part for part in visible.split(",") if part.strip() and part.strip() != "-1"]
    return names[: len(wanted)]
