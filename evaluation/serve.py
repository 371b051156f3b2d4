"""Serve a local Hugging Face folder with vLLM on 127.0.0.1, as a subprocess that never outlives us.

    with ModelServer(folder, log=run / "logs" / "serve.log") as server:
        ... server.base_url, server.model ...

Start-up is most of a small evaluation on CPU, so what isn't needed is off: graph capture, request logs, API docs, the
tokenizer's parallelism, any look at a hub.
"""
from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from environment.core.errors import StageError
from environment.core.memory import KEPT

POLL_S = 0.2
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Not passed on to a CPU server: what a trainer set for itself would tie the server to one core."""
_PORT_TAKEN = "address already in use"


@dataclass(frozen=True)
class ServeSettings:
    """How a model is served."""

    device: str = "auto"
    """`cpu`, `gpu`, or `auto`: gpu where an NVIDIA device file exists."""
    max_model_len: int = 4096
    """Longest conversation in tokens; longer ones end by their token limit."""
    max_num_seqs: int = 32
    kv_cache_gib: int = 1
    """CPU only: memory for keys and values. SmolLM2-135M needs 23 kB a token."""
    gpu_memory_utilization: float = 0.85
    tensor_parallel: int = 1
    start_deadline_s: float = 300.0
    threads: str = "nobind"
    """CPU only: vLLM's thread binding. `nobind` shares the cores with whatever else runs."""
    extra: tuple[str, ...] = ()
    """Further arguments for the server, as written on its command line."""
    environment: tuple[tuple[str, str], ...] = ()
    """Further environment variables of the server; they win over ours."""

    @property
    def on_cpu(self) -> bool:
        """Tell whether this serves on CPU."""
        return self.device == "cpu" or (self.device == "auto" and not Path("/dev/nvidiactl").exists())


@dataclass
class ModelServer:
    """A running server; a context manager."""

    folder: Path
    settings: ServeSettings = field(default_factory=ServeSettings)
    log: Path | None = None
    """Where the server's output goes; None: a temporary file, removed at the end unless the server failed."""
    model: str = "policy"
    """Name under which the model is served."""
    base_url: str = ""
    start_s: float = 0.0
    """Seconds from launch to readiness."""
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False)
    _own_log: bool = False

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if self._own_log and self.log is not None and error is None:
            self.log.unlink(missing_ok=True)

    def start(self) -> None:
        """Start and wait until it answers; raises StageError with the end of the log when it does not."""
        if not (self.folder / "config.json").is_file():
            raise StageError("no model to serve", where=str(self.folder), expected="a Hugging Face folder")
        self._open_log()
        began = time.monotonic()
        for _ in range(3):
            port = free_port()
            if self._try(port, began + self.settings.start_deadline_s):
                self.base_url = f"http://127.0.0.1:{port}/v1"
                self.start_s = time.monotonic() - began
                return
        raise self._failed("found no free port in three tries")

    def stop(self) -> None:
        """End the server and its children; does nothing when none runs."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=15)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    @property
    def alive(self) -> bool:
        """Tell whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def log_tail(self, lines: int = 25) -> str:
        """Return the last lines of the log."""
        if self.log is None or not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])

    def _open_log(self) -> None:
        if self.log is None:
            handle, name = tempfile.mkstemp(prefix="tool-rl-serve-", suffix=".log")
            os.close(handle)
            self.log, self._own_log = Path(name), True
        self.log.parent.mkdir(parents=True, exist_ok=True)

    def _try(self, port: int, deadline: float) -> bool:
        """Launch on a port and wait; False when someone else took the port in between."""
        assert self.log is not None
        served = serve_command(self.folder, port, self.model, self.settings)
        command = [sys.executable, "-m", "evaluation.guard", *served]
        with self.log.open("ab") as out:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                env=serve_environment(self.settings), start_new_session=True,
            )
        try:
            return self._wait(port, deadline)
        except BaseException:
            self.stop()
            raise

    def _wait(self, port: int, deadline: float) -> bool:
        while time.monotonic() < deadline:
            if not self.alive:
                if _PORT_TAKEN in self.log_tail().lower():
                    return False
                raise self._failed("the model server ended before it was ready")
            if self.model in _served(port):
                return True
            time.sleep(POLL_S)
        raise self._failed(f"the model server was not ready after {self.settings.start_deadline_s:.0f} s")

    def _failed(self, what: str) -> StageError:
        self._own_log = False
        fix = f"read {self.log}; its end:\n{self.log_tail()}"
        return StageError(what, where=str(self.folder), fix=fix)


def serve_command(folder: Path, port: int, model: str, settings: ServeSettings) -> list[str]:
    """Return the server's command line."""
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--served-model-name", model]
    command += ["--dtype", "bfloat16", "--max-model-len", str(settings.max_model_len)]
    command += ["--max-num-seqs", str(settings.max_num_seqs)]
    command += ["--disable-uvicorn-access-log", "--disable-fastapi-docs", "--disable-log-stats"]
    if settings.on_cpu:
        # Seeded sampling on CPU fails after a prompt that was cut into chunks.
        command += ["--enforce-eager", "--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192"]
        command += ["--distributed-executor-backend", "uni"]
    else:
        command += ["--gpu-memory-utilization", str(settings.gpu_memory_utilization)]
    if settings.tensor_parallel > 1:
        command += ["--tensor-parallel-size", str(settings.tensor_parallel)]
    return [*command, *settings.extra]


def serve_environment(settings: ServeSettings) -> dict[str, str]:
    """Return the server's environment: ours, offline, on loopback, with this repository importable for the guard."""
    root = str(Path(__file__).resolve().parents[1])
    path = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    ours = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONPATH": path}
    # Only our own, which makes sampling on CPU quick: others cost start-up time and are not needed to serve.
    ours |= {"VLLM_PLUGINS": os.environ.get("VLLM_PLUGINS", "tool_rl")}
    ours |= {"VLLM_HOST_IP": "127.0.0.1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if settings.on_cpu:
        ours |= {"VLLM_CPU_KVCACHE_SPACE": str(settings.kv_cache_gib), "VLLM_CPU_OMP_THREADS_BIND": settings.threads}
        # One engine process without a worker of its own, and no compiling: both cost more than they give here.
        ours |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "TORCHDYNAMO_DISABLE": "1"}
        ours |= {"OMP_NUM_THREADS": str(len(os.sched_getaffinity(0)))}
    inherited = {k: v for k, v in os.environ.items() if not (settings.on_cpu and k in _THREADS)}
    return {**(KEPT if settings.on_cpu else {}), **inherited, **ours, **dict(settings.environment)}


def free_port() -> int:
    """Return a port of 127.0.0.1 that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _served(port: int) -> list[str]:
    """Return the names the server lists, nothing while it doesn't answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/v1/models", timeout=2) as answer:
            listed: dict[str, Any] = json.load(answer)
            return [str(m["id"]) for m in listed["data"]]
    except (urllib.error.URLError, OSError, ValueError, KeyError, TypeError):
        return []
