"""`HttpWorld`: a world behind a server, as a `World`. Rollouts on it are byte for byte those on the world itself."""
from __future__ import annotations

import http.client
import os
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from environment.cache.layout import decode, encode
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.errors import ConfigError, WorldError
from environment.core.schema import ToolSchema


class HttpWorld:
    """Answers calls over one kept-alive connection a thread."""

    def __init__(
        self, url: str, schemas: Mapping[str, ToolSchema], token: str | None = None, timeout_s: float = 10.0
    ) -> None:
        """Prepare; nothing is connected yet.

        Args:
            url: of the server, `http://127.0.0.1:8400`.
            token: sent as bearer token.
            timeout_s: of one request.
        """
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ConfigError("not the address of a world server", got=url, expected="http://HOST:PORT")
        self.schemas = schemas
        self._host, self._port, self._timeout_s = parts.hostname, parts.port or 80, timeout_s
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._local = threading.local()

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        """Return the answer to one call.

        Raises:
            WorldError: the server can't be reached, or answers with something else: an infrastructure failure.
        """
        status, body = self._post("/v1/call", encode({"name": name, "arguments": dict(arguments)}))
        if status != 200:
            said = body[:200].decode("utf-8", "replace")
            raise WorldError(f"the world server answered {status}", where=self._where, got=said)
        try:
            found: dict[str, Any] = decode(body)
            return WorldAnswer(ResultStatus(found["status"]), found["value"])
        except (ValueError, KeyError, TypeError) as error:
            raise WorldError("not the answer of a world server", where=self._where, got=body[:200]) from error

    @property
    def _where(self) -> str:
        return f"{self._host}:{self._port}"

    def _post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Send a request; once more where a connection that was kept open turns out to be closed.

        A call changes nothing on the server, so repeating it is safe.
        """
        for fresh in (False, True):
            connection = self._connection(fresh)
            try:
                connection.request("POST", path, body, self._headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError) as error:
                connection.close()
                if fresh or isinstance(error, TimeoutError):
                    raise WorldError(f"the world server failed: {type(error).__name__}", where=self._where) from error
        raise AssertionError("unreachable")

    def _connection(self, fresh: bool) -> http.client.HTTPConnection:
        local = self._local
        if fresh or getattr(local, "pid", None) != os.getpid():
            local.connection = http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)
            local.pid = os.getpid()
        return local.connection
