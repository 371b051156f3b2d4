"""A service on loopback that answers as told: real HTTP, byte by byte where a test wants it."""
from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = bytes | Iterable[bytes]


@dataclass(frozen=True)
class Asked:
    """One request."""

    path: str
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    number: int
    """From 1."""


@dataclass
class Stub:
    """What the service was asked, and how it answers."""

    url: str
    answer: Callable[[Asked], Answer]
    asked: list[Asked] = field(default_factory=list[Asked])
    done: threading.Event = field(default_factory=threading.Event)
    """Set at the end of a test: an answer that waits should wait for this."""
    lock: threading.Lock = field(default_factory=threading.Lock)


def reply(body: Any = None, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    """Return a whole answer; a body that is no bytes goes as JSON."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Words", f"Content-Type: {kind}", f"Content-Length: {len(data)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def page(status: int = 200) -> bytes:
    """Return a gateway's web page."""
    return reply(b"<!DOCTYPE html><html><body>Down for maintenance</body></html>", status, "text/html; charset=utf-8")


@contextmanager
def stub(answer: Callable[[Asked], Answer]) -> Generator[Stub, None, None]:
    """Run a service for as long as the block lasts."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = self.rfile.readline().decode()
            if not head:
                return
            headers: dict[str, str] = {}
            while (line := self.rfile.readline().decode().strip()) != "":
                name, _, value = line.partition(":")
                headers[name.lower()] = value.strip()
            parts = urlsplit(head.split()[1])
            with service.lock:
                asked = Asked(parts.path, dict(parse_qsl(parts.query)), headers, len(service.asked) + 1)
                service.asked.append(asked)
            given = service.answer(asked)
            try:
                for piece in [given] if isinstance(given, bytes) else given:
                    self.wfile.write(piece)
                    self.wfile.flush()
            except OSError:
                return  # the client had enough

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address, daemon_threads, block_on_close = True, True, False
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        service = Stub(f"http://127.0.0.1:{server.server_address[1]}", answer)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield service
        finally:
            service.done.set()
            server.shutdown()
            thread.join()
