"""A verl platform for machines without an accelerator.

verl places workers by Ray's `GPU` resource; on this platform Ray is given *logical* GPUs, so verl's own placement runs
unchanged. Collectives go through gloo, weights to the rollout engine through shared memory (no device IPC exists).
"""
from __future__ import annotations

import contextlib
import os
import types
from collections.abc import Iterator
from typing import Any

import torch
from verl.plugin.platform import PlatformBase, PlatformRegistry

NAME = "cpu"


def _nothing(*_args: Any, **_kwargs: Any) -> None:
    return None


def _zero(*_args: Any, **_kwargs: Any) -> int:
    return 0


def _memory(*_args: Any, **_kwargs: Any) -> tuple[int, int]:
    """Return (free, total) bytes of main memory, as `torch.cuda.mem_get_info` does for a device."""
    page = os.sysconf("SC_PAGE_SIZE")
    return os.sysconf("SC_AVPHYS_PAGES") * page, os.sysconf("SC_PHYS_PAGES") * page


def _device_module() -> types.ModuleType:
    """Return a stand-in for `torch.cuda`: memory and stream functions that have no meaning here do nothing."""
    module = types.ModuleType("tool_rl_cpu_device")
    for name in ("empty_cache", "ipc_collect", "synchronize", "set_device", "reset_peak_memory_stats", "manual_seed"):
        setattr(module, name, _nothing)
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved"):
        setattr(module, name, _zero)
    module.mem_get_info = _memory  # type: ignore[attr-defined]
    module.manual_seed_all = _nothing  # type: ignore[attr-defined]
    module.is_available = lambda: True  # type: ignore[attr-defined]
    module.is_initialized = lambda: True  # type: ignore[attr-defined]
    module.device_count = lambda: CpuPlatform().device_count()  # type: ignore[attr-defined]
    module.current_device = lambda: NAME  # type: ignore[attr-defined]
    module.get_device_name = lambda *_: NAME  # type: ignore[attr-defined]
    module.get_rng_state = lambda *_: torch.get_rng_state()  # type: ignore[attr-defined]
    module.set_rng_state = lambda state, *_: torch.set_rng_state(state)  # type: ignore[attr-defined]
    module.memory = types.SimpleNamespace(_set_allocator_settings=_nothing, _snapshot=dict)  # type: ignore[attr-defined]
    return module


@PlatformRegistry.register(platform=NAME)
class CpuPlatform(PlatformBase):
    """Main memory and cores as verl's device. Chosen by `VERL_PLATFORM=cpu`, never detected by itself."""

    @property
    def device_name(self) -> str:
        """Return the torch device type."""
        return NAME

    @property
    def vendor_name(self) -> str:
        """Return the vendor; there is none to tell apart."""
        return NAME

    @property
    def device_module(self) -> types.ModuleType:
        """Return the stand-in for `torch.cuda`."""
        return _MODULE

    def is_available(self) -> bool:
        """A CPU is always there."""
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Never detected: a machine with an accelerator must not fall back silently."""
        return False

    def current_device(self) -> Any:
        """Return the string `cpu`: verl hands this to `.to()`, where torch reads an int as an accelerator's index."""
        return NAME

    def device_count(self) -> int:
        """Return how many logical devices this process may think it has."""
        return int(os.environ.get("TOOL_RL_LOGICAL_DEVICES", "1"))

    def set_device(self, device_index: int) -> None:
        """Nothing to select."""

    def synchronize(self, device_index: int | None = None) -> None:
        """CPU kernels are synchronous."""

    def manual_seed(self, seed: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed torch's generator."""
        torch.manual_seed(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """The CPU allocator has no such settings."""

    def empty_cache(self) -> None:
        """The CPU allocator keeps no cache."""

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        """Return that there is no compute capability."""
        return None, None

    def communication_backend_name(self) -> str:
        """Return torch's collective backend for main memory."""
        return "gloo"

    def visible_devices_envvar(self) -> str:
        """Return Ray's own variable for logical GPUs; torch ignores it on a CPU build."""
        return "CUDA_VISIBLE_DEVICES"

    @contextlib.contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        """Profile nothing."""
        yield

    def profiler_start(self) -> None:
        """Profile nothing."""

    def profiler_stop(self) -> None:
        """Profile nothing."""

    def ray_resource_name(self) -> str:
        """Return Ray's name for the logical devices."""
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        """Return the variables that stop Ray from renumbering devices."""
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        """Weights travel through shared memory."""
        return False

    def cudart(self) -> Any:
        """There is no runtime API."""
        return None


_MODULE = _device_module()
