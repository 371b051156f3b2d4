"""A server that misbehaves on purpose, over a plain socket."""
from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Generator

Behaviour = Callable[[socket.socket], None]
"""What is done with a connection once a request's first bytes are there."""


def says(answer: bytes) -> Behaviour:
    return lambda connection: connection.sendall(answer)


def page(body: bytes, status: str = "200 OK", length: int | None = None) -> bytes:
    """Return a response; `length` other than the body's makes it lie."""
    size = len(body) if length is None else length
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status.encode(), size, body)


@contextlib.contextmanager
def peer(behave: Behaviour) -> Generator[tuple[str, list[bytes]], None, None]:
    """Listen; yield the address and the requests seen so far. Every connection is closed after one behaviour."""
    seen: list[bytes] = []
    over = threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(0.05)
    threads: list[threading.Thread] = []

    def serve_one(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            seen.append(connection.recv(65536))
            behave(connection)

    def accept() -> None:
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                connection, _ = listening.accept()
                threads.append(threading.Thread(target=serve_one, args=(connection,), daemon=True))
                threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", seen
    finally:
        over.set()
        accepting.join(5)
        listening.close()
