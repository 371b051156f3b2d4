"""Run the server: on loopback without a token, elsewhere only with one; SIGTERM lets open requests end."""
from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import socket
from collections.abc import Callable, Generator
from dataclasses import dataclass

import uvicorn

from environment.core.errors import ConfigError
from environment.core.net import is_loopback
from environment.server.app import build_app
from environment.server.opening import TOKEN_VARIABLE
from environment.server.pool import SessionPool

BACKLOG = 4096
"""Connections that may wait to be taken."""
Ready = Callable[[str, int], None]
"""Called with host and port once requests are answered."""


@dataclass(frozen=True)
class ServerSettings:
    """Where and how to listen."""

    host: str = "127.0.0.1"
    port: int = 8400
    """0 takes any free one."""
    drain_s: float = 10.0
    """How long a stop waits for requests under way."""
    log_level: str = "warning"

    @property
    def on_loopback(self) -> bool:
        """Tell whether only this machine can connect."""
        return is_loopback(self.host)


def check(settings: ServerSettings, token: str | None) -> None:
    """Raise ConfigError where anyone could connect without a token."""
    if not settings.on_loopback and not token:
        raise ConfigError(
            "a server that others can reach needs a token",
            where="serve --host",
            got=settings.host,
            fix=f"set {TOKEN_VARIABLE}, or listen on 127.0.0.1",
        )


def serve(pool: SessionPool, settings: ServerSettings, ready: Ready | None = None) -> None:
    """Serve until SIGINT or SIGTERM.

    Args:
        ready: called once requests are answered.

    Raises:
        ConfigError: others could connect without a token, or the address can't be listened on.
    """
    token = os.environ.get(TOKEN_VARIABLE) or None
    check(settings, token)
    with _listen(settings) as listening:
        config = uvicorn.Config(
            build_app(pool, token), log_level=settings.log_level, access_log=False, proxy_headers=False,
            timeout_graceful_shutdown=int(settings.drain_s),
        )  # fmt: skip
        _spare_the_collector()
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:  # uvloop, where it is installed
            runner.run(_run(_Server(config, pool), listening, pool, ready))


def _spare_the_collector() -> None:
    """Let Python look for cycles seldom: open sessions hold many values and no cycles, and a look takes long."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _listen(settings: ServerSettings) -> socket.socket:
    """Return a listening socket, or say what is in the way before anything else starts."""
    address = (settings.host, settings.port)
    try:
        family = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server(address, family=family, backlog=BACKLOG)
    except OSError as error:
        fix = "give another --port (0 takes any free one) or --host"
        raise ConfigError(f"can't listen: {error}", where="serve", got=f"{address[0]}:{address[1]}", fix=fix) from error


class _Server(uvicorn.Server):
    """Takes no new sessions once it is told to stop."""

    def __init__(self, config: uvicorn.Config, pool: SessionPool) -> None:
        super().__init__(config)
        self._pool = pool

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Stop on SIGINT and SIGTERM; do not raise them again afterwards, for this is an orderly end."""
        loop = asyncio.get_running_loop()
        for sign in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(sign, self._stop)
        yield

    def _stop(self) -> None:
        self._pool.draining = True
        self.should_exit = True


async def _run(server: _Server, listening: socket.socket, pool: SessionPool, ready: Ready | None) -> None:
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.01)
    if server.started and ready is not None:
        ready(*listening.getsockname()[:2])
    reaping = asyncio.create_task(_reap(pool))
    try:
        await serving
    finally:
        reaping.cancel()
        halt = getattr(pool.world, "halt", None)
        if halt is not None:
            halt()  # requests that nobody waits for any more must not keep the process


async def _reap(pool: SessionPool) -> None:
    """Forget abandoned sessions also when no request comes."""
    while True:
        await asyncio.sleep(min(pool.ttl_s / 4, 30.0))
        pool.reap()
