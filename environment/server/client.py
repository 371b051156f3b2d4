"""`HttpWorld`: a world behind a server, as a `World`. Rollouts on it are byte for byte those on the world itself.

Whatever goes wrong between here and there is a WorldError, which ends an episode as an infrastructure failure and is
never the model's fault: no connection, no answer in time however slowly it drips, another status, a page of HTML, half
an answer.
"""
from __future__ import annotations

import http.client
import os
import socket
import threading
import time
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from environment.cache.layout import decode, encode
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.errors import ConfigError, WorldError
from environment.core.schema import ToolSchema

MOST_BYTES = 64 << 20
"""Of an answer; a longer one is taken for none of a world server's."""
_CHUNK = 1 << 16


class HttpWorld:
    """Answers calls over one kept-alive connection a thread; pickles by address, usable after a fork."""

    waits = True
    """A call waits for another machine, so `drive` makes it in a thread and others go on."""

    def __init__(
        self, url: str, schemas: Mapping[str, ToolSchema], token: str | None = None, timeout_s: float = 10.0
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            url: of the server, `http://127.0.0.1:8400`.
            token: sent as bearer token.
            timeout_s: of one call, from connecting to the last byte of its answer.
        """
        self._host, self._port = address(url)
        self.url, self.schemas = url, schemas
        self._token, self._timeout_s = token, timeout_s
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._local = threading.local()
        self.content_hash = ""
        """Of the world behind the server, and `entry_count`, once the server was asked."""
        self.entry_count = 0

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the answer to one call.

        Raises:
            WorldError: the server can't be reached, or answers with something else: an infrastructure failure.
        """
        found, body = self._object("POST", "/v1/call", encode({"name": name, "arguments": dict(arguments)}))
        try:
            return WorldAnswer(ResultStatus(found["status"]), found["value"])
        except (ValueError, KeyError) as error:
            raise self._stranger(body) from error

    def description(self) -> dict[str, Any]:
        """Return what the server says of its world: `tools`, `content_hash`, `entries`; WorldError as for a call."""
        found, body = self._object("GET", "/v1/world", b"")
        if not isinstance(found.get("tools"), list):
            raise self._stranger(body)
        return found

    def close(self) -> None:
        """Leave the connections; a later call connects again."""
        self._local = threading.local()

    def __enter__(self) -> HttpWorld:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        return (HttpWorld, (self.url, self.schemas, self._token, self._timeout_s))

    @property
    def _where(self) -> str:
        return f"{self._host}:{self._port}"

    def _stranger(self, body: bytes) -> WorldError:
        said = body[:200].decode("utf-8", "replace")
        return WorldError("not the answer of a world server", where=self._where, got=said)

    def _object(self, method: str, path: str, body: bytes) -> tuple[dict[str, Any], bytes]:
        status, answer = self._ask(method, path, body)
        if status != 200:
            fix = "set TOOL_RL_SERVE_TOKEN to the server's token" if status == 401 else None
            said = answer[:200].decode("utf-8", "replace")
            raise WorldError(f"the world server answered {status}", where=self._where, got=said, fix=fix)
        try:
            found: JsonValue = decode(answer)
        except (ValueError, RecursionError) as error:
            raise self._stranger(answer) from error
        if not isinstance(found, dict):
            raise self._stranger(answer)
        return cast("dict[str, Any]", found), answer

    def _ask(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request; once more where a connection that was kept open turns out to be closed.

        Nothing that is asked here changes the server, so repeating it is safe.
        """
        until = time.monotonic() + self._timeout_s
        for fresh in (False, True):
            connection = self._connection(fresh, until)
            try:
                connection.request(method, path, body, self._headers)
                return _read(connection.getresponse())
            except (http.client.HTTPException, OSError, ValueError) as error:
                connection.close()
                if fresh or isinstance(error, TimeoutError):
                    what = f"the world server failed: {type(error).__name__}"
                    fix = f"start it (tool-rl serve), or check the address {self.url}"
                    raise WorldError(what, where=self._where, got=str(error) or None, fix=fix) from error
        raise AssertionError("unreachable")

    def _connection(self, fresh: bool, until: float) -> _Connection:
        local = self._local
        if fresh or getattr(local, "pid", None) != os.getpid():
            local.connection = _Connection(self._host, self._port)
            local.pid = os.getpid()
        local.connection.give_until(until)
        return local.connection


def address(url: str) -> tuple[str, int]:
    """Return host and port of a server's address; ConfigError for what is none."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme != "http" or not host or parts.path not in ("", "/") or parts.query or "@" in parts.netloc:
        fix = "a token goes into the variable TOOL_RL_SERVE_TOKEN" if "@" in parts.netloc else None
        shown = "an address with a login" if "@" in url else url
        raise ConfigError("not the address of a world server", got=shown, expected="http://HOST:PORT", fix=fix)
    return host, port or 80


class _Connection(http.client.HTTPConnection):
    """A connection with a moment until which everything must have come."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(host, port)
        self._until = 0.0

    def give_until(self, until: float) -> None:
        """Set the moment, on `time.monotonic`, for the next request."""
        self._until = until
        self.timeout = max(until - time.monotonic(), 0.001)
        if isinstance(self.sock, _Timed):
            self.sock.until = until
            self.sock.settimeout(self.timeout)

    def connect(self) -> None:
        """Connect, with a socket whose timeout is for the whole request."""
        super().connect()
        self.sock = _Timed.around(self.sock, self._until)


class _Timed(socket.socket):
    """A socket that receives until a moment; a plain one begins to wait anew with every byte."""

    until = 0.0

    @classmethod
    def around(cls, plain: socket.socket, until: float) -> _Timed:
        """Take over a connected socket."""
        timed = cls(plain.family, plain.type, plain.proto, fileno=plain.detach())
        timed.until = until
        timed.settimeout(max(until - time.monotonic(), 0.001))
        return timed

    def recv_into(self, *args: Any, **named: Any) -> int:
        """Receive within what is left of the time."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self.settimeout(left)
        return super().recv_into(*args, **named)


def _read(response: http.client.HTTPResponse) -> tuple[int, bytes]:
    """Return status and body of a response that is neither endless nor shorter than it says."""
    length = response.length
    if length is not None and length > MOST_BYTES:
        raise ValueError(f"an answer of {length} bytes")
    body = response.read(MOST_BYTES) if length is None else response.read()
    if length is None and len(body) == MOST_BYTES:
        raise ValueError("an endless answer")
    return response.status, body
