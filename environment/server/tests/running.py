"""A real server in a process of its own."""
from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Generator
from dataclasses import dataclass

SERVER = """
import sys
from environment.server.pool import SessionPool
from environment.server.run import ServerSettings, serve
from environment.server.tests.support import WORLD, parse
settings = ServerSettings(port=int(sys.argv[1]), log_level=sys.argv[2])
pool = SessionPool(WORLD, parse, capacity=int(sys.argv[3]))
serve(pool, settings, ready=lambda host, port: print(port, flush=True))
print("ended in order", flush=True)
"""


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    process: subprocess.Popen[str]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def running(
    port: int = 0, log_level: str = "warning", token: str | None = None, capacity: int = 64
) -> Generator[Running, None, None]:
    """Start a server; it is killed at the end, where it has not ended by then."""
    environ = {**os.environ, "TOOL_RL_SERVE_TOKEN": token or ""}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(port), log_level, str(capacity)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ,
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    try:
        yield Running(process, int(process.stdout.readline()))
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
        process.stderr.close()
