"""A scripted OpenAI-compatible endpoint on loopback, for the tests of everything that asks one."""
from __future__ import annotations

import json
import socket
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self

Reply = tuple[int, Any, dict[str, str]]
"""(status, body as JSON or text, headers)."""


class FakeEndpoint:
    """An OpenAI-compatible endpoint on loopback in a thread of its own; `answer` decides what each request gets.

    `answer` takes the request body and its number (from 0) and returns (status, body, headers).
    """

    def __init__(self, answer: Callable[[dict[str, Any], int], Reply]) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                outer.keys.append(self.headers.get("Authorization"))
                status, content, headers = outer.answer(body, len(outer.requests) - 1)
                data = (content if isinstance(content, str) else json.dumps(content)).encode()
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = _Quiet(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Quiet(ThreadingHTTPServer):
    """A server that doesn't complain when a client leaves early."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing."""


def said(content: str | None, finish: str = "stop", **more: Any) -> Reply:
    """Return a well-formed reply with an assistant message."""
    message = {"role": "assistant", "content": content, **more}
    usage = {"prompt_tokens": 100, "completion_tokens": 7}
    return 200, {"choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage}, {}


def failed(status: int, text: str = "no", **headers: str) -> Reply:
    """Return an HTTP failure."""
    return status, text, {k.replace("_", "-"): v for k, v in headers.items()}


def closed_address() -> str:
    """Return an address on loopback where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
