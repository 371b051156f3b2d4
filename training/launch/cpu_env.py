"""Environment variables of a run without an accelerator. They must be set before Ray, torch or vLLM is imported."""
from __future__ import annotations

import os
from collections.abc import Mapping

from environment.core.memory import KEPT

KV_CACHE_GIB = 2
"""Main memory vLLM may use for keys and values; SmolLM2-135M needs 23 kB a token."""

TRAIN_LAYERS = "TOOL_RL_TRAIN_LAYERS"
"""Variable that tells the engine in every worker how many of the last decoder layers it trains; 0 or unset: all."""


def cores() -> int:
    """Return the cores this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_environment(ranks: int = 1) -> dict[str, str]:
    """Return what a CPU run sets, leaving alone what the user has set.

    Args:
        ranks: trainer processes on this machine; each gets its share of the cores.
    """
    threads = str(max(1, cores() // ranks))
    return {
        **KEPT,
        "VERL_PLATFORM": "cpu",
        "TOOL_RL_LOGICAL_DEVICES": str(ranks),
        # Ray would give an actor one thread for each logical CPU it asked for, which is one.
        "OMP_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        # With this and executor `uni` vLLM computes in its engine process. A worker process of its own costs a fifth of
        # the tokens a second on two cores: engine and worker wait for each other by spinning.
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": str(KV_CACHE_GIB),
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        # Compiling takes longer than it saves in a run of minutes, and needs a C++ compiler.
        "TORCHDYNAMO_DISABLE": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "VLLM_NO_USAGE_STATS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_OFFLINE": "1",
        "RAY_DEDUP_LOGS": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }


def stage_environment(device: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a stage's process starts with; what the user has set stays."""
    return {**(KEPT if device == "cpu" else {}), **environ}


def loopback_environment() -> dict[str, str]:
    """Return what keeps every socket of a one-machine run on the loopback interface."""
    return {
        # Ray turns 127.0.0.1 into the host's address unless it is told that no cluster is wanted.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "VLLM_HOST_IP": "127.0.0.1",
        "VLLM_LOOPBACK_IP": "127.0.0.1",
        "GLOO_SOCKET_IFNAME": "lo",
    }


def set_defaults(values: dict[str, str]) -> None:
    """Set variables that are not set yet."""
    for name, value in values.items():
        os.environ.setdefault(name, value)
