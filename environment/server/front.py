"""`Front`: what stands before FastAPI: the token, the size of a body, the counters, and the routes rollouts live on.

FastAPI needs several times longer to pass a request on than a step takes. So the five busy routes are answered here,
by the same types and the same `Answers`. Whatever does not fit them at first sight goes on to FastAPI with its body,
which then says what is wrong, in its words.

    request ─► token? ─► body within bounds? ─► busy route, JSON, fits its type? ─► Answers
                                                   └ no ─► FastAPI ─► the same Answers, or what is wrong
"""
from __future__ import annotations

import asyncio
import hmac
import time
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from pydantic import ValidationError

from environment.cache.layout import encode
from environment.core.errors import ToolRlError
from environment.server.answers import Answers, error_parts, error_status
from environment.server.metrics import Metrics
from environment.server.wire import BatchRequest, CallRequest, OpenRequest, StepRequest

MOST_BYTES = 16 << 20
"""Of a request's body."""
BODY_S = 20.0
"""Seconds a client may take to send a body."""
WAITING = 64
"""Requests at once that wait for an upstream; the rest queue up."""
OPEN_PATHS = frozenset({"/health"})
"""Answered without a token."""
RETRY_AFTER = (b"retry-after", b"1")
_SESSIONS = "/v1/sessions/"

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Busy = tuple[str, int, Callable[[bytes], bytes]]
"""Name of a route as the counters have it, its status, and the answer to a body."""


class _TooLarge(Exception):
    """The body is longer than `MOST_BYTES`."""


class _Gone(Exception):
    """The client has left."""


class Front:
    """An ASGI application around another."""

    def __init__(self, app: Any, answers: Answers, metrics: Metrics, token: str | None) -> None:
        """Stand before `app`.

        Args:
            app: an ASGI application.
            token: what `Authorization: Bearer …` must carry; None asks for nothing.
        """
        self.app, self._answers, self._metrics = app, answers, metrics
        self._threads = ThreadPoolExecutor(WAITING, "world") if answers.pool.waits else None
        self._token = None if token is None else f"Bearer {token}".encode()
        self._fixed: dict[tuple[str, str], Busy] = {
            ("POST", "/v1/call"): ("/v1/call", 200, partial(_read_and, CallRequest, answers.call)),
            ("POST", "/v1/steps"): ("/v1/steps", 200, partial(_read_and, BatchRequest, answers.steps)),
            ("POST", "/v1/sessions"): ("/v1/sessions", 201, partial(_read_and, OpenRequest, answers.open)),
        }

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began = time.perf_counter()
        try:
            route, status = await self._answer(scope, receive, send)
        except _Gone:
            return
        self._metrics.answered(route, status, time.perf_counter() - began)

    async def _answer(self, scope: Message, receive: Receive, send: Send) -> tuple[str, int]:
        """Send a response; return its route and status."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        if self._token is not None and scope["path"] not in OPEN_PATHS and not _has(headers, self._token):
            fix = "send Authorization: Bearer TOKEN"
            return await _refuse(send, 401, {"what": "no valid token", "fix": fix})
        try:
            body = await _body(receive)
        except _TooLarge:
            return await _refuse(send, 413, {"what": "the body is too long", "expected": f"at most {MOST_BYTES} bytes"})
        except TimeoutError:
            return await _refuse(send, 408, {"what": "the body did not come", "expected": f"it within {BODY_S:.0f} s"})
        busy = self._busy(scope["method"], scope["path"], headers)
        if busy is None:
            return await self._pass_on(scope, body, receive, send)
        route, status, reply = busy
        try:
            content = await self._reply(reply, body)
        except ValidationError:
            return await self._pass_on(scope, body, receive, send)
        except ToolRlError as error:
            status, content = error_status(error), encode({"error": error_parts(error)})
        await _send(send, status, content)
        return route, status

    async def _reply(self, reply: Callable[[bytes], bytes], body: bytes) -> bytes:
        """Return an answer; worked out in a thread where the world waits for others, so that nobody else has to."""
        if self._threads is None:
            return reply(body)
        return await asyncio.get_running_loop().run_in_executor(self._threads, reply, body)

    def _busy(self, method: str, path: str, headers: list[tuple[bytes, bytes]]) -> Busy | None:
        """Return the busy route that a request asks for, None for any other."""
        if method == "DELETE" and path.startswith(_SESSIONS):
            name = path[len(_SESSIONS) :]
            return None if "/" in name else ("/v1/sessions/{session}", 200, lambda _: self._answers.close(name))
        if not _is_json(headers):
            return None
        found = self._fixed.get((method, path))
        if found is None and method == "POST" and path.startswith(_SESSIONS) and path.endswith("/step"):
            name = path[len(_SESSIONS) : -len("/step")]
            if "/" not in name:
                reply = partial(_read_and, StepRequest, partial(self._answers.step, name))
                return "/v1/sessions/{session}/step", 200, reply
        return found

    async def _pass_on(self, scope: Message, body: bytes, receive: Receive, send: Send) -> tuple[str, int]:
        """Let the application answer a request whose body was read; return its route and status."""
        status = 500
        pending = True

        async def again() -> Message:
            nonlocal pending
            if pending:
                pending = False
                return {"type": "http.request", "body": body, "more_body": False}
            return await receive()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        await self.app(scope, again, noted)
        return getattr(scope.get("route"), "path", "none"), status


def _read_and(model: Any, reply: Callable[[Any], bytes], body: bytes) -> bytes:
    return reply(model.model_validate_json(body))


async def _body(receive: Receive) -> bytes:
    """Return the body of a request; TimeoutError where its whole has not come within `BODY_S`."""
    pieces: list[bytes] = []
    length, more = 0, True
    async with asyncio.timeout(BODY_S):
        while more:
            message = await receive()
            pieces.append(_piece(message, length))
            length += len(pieces[-1])
            more = bool(message.get("more_body", False))
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _piece(message: Message, before: int) -> bytes:
    if message["type"] == "http.disconnect":
        raise _Gone
    piece: bytes = message.get("body", b"")
    if before + len(piece) > MOST_BYTES:
        raise _TooLarge
    return piece


def _has(headers: list[tuple[bytes, bytes]], token: bytes) -> bool:
    given = next((value for name, value in headers if name == b"authorization"), b"")
    return hmac.compare_digest(given, token)


def _is_json(headers: list[tuple[bytes, bytes]]) -> bool:
    return any(name == b"content-type" and value.startswith(b"application/json") for name, value in headers)


async def _refuse(send: Send, status: int, parts: dict[str, str]) -> tuple[str, int]:
    await _send(send, status, encode({"error": parts}))
    return "none", status


async def _send(send: Send, status: int, content: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    if status in (429, 503):
        headers.append(RETRY_AFTER)
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
