"""One HTTP request within limits: it ends in time whatever the other side does, and no error text holds a header.

    connect_s   to open the connection                 read_s   of silence at a time
    total_s     for everything, however slowly it drips  body_bytes   of an answer

Redirects are not followed: the key in the headers is meant for one address.
"""
from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from environment.core.errors import ConfigError
from environment.core.net import is_loopback
from environment.core.upstream import UpstreamFailure


@dataclass(frozen=True)
class HttpLimits:
    """How long and how much a request may take."""

    connect_s: float = 10.0
    read_s: float = 30.0
    """Longest silence between two pieces of an answer."""
    total_s: float = 60.0
    """From the start of the connection to the last byte."""
    body_bytes: int = 32 * 2**20


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes


class Transient(UpstreamFailure):
    """A failure that may be gone at the next try."""

    retry_after: float | None = None
    """Seconds the service wants to be left alone, where it said so."""


def check_address(url: str) -> SplitResult:
    """Return the parts of an address that may be given a key.

    Raises:
        ConfigError: no http(s) address, or an unencrypted one of another machine.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("not an address", where="upstream address", got=url, expected="https://host[:port]")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ConfigError(
            "an unencrypted address would show the key to everyone on the way",
            where="upstream address", got=url, fix="use https, or a server on this machine",
        )  # fmt: skip
    return parts


def send(
    url: str, headers: Mapping[str, str], limits: HttpLimits, method: str = "GET", body: bytes | None = None
) -> Reply:
    """Send one request and return the whole answer, whatever its status.

    Raises:
        Transient: no connection, no answer in time, or an answer that broke off.
        UpstreamFailure: an answer larger than allowed.
    """
    exchange = _Exchange(check_address(url), limits)
    with exchange:
        return exchange.run(method, url, headers, body)


class _Exchange:
    """One connection and the clock that cuts it off."""

    def __init__(self, parts: SplitResult, limits: HttpLimits) -> None:
        self._limits, self._late = limits, threading.Event()
        wait = min(limits.connect_s, limits.total_s)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=wait)
        self._socket: socket.socket | None = None
        self._clock = threading.Timer(limits.total_s, self._cut)
        self._clock.daemon = True

    def __enter__(self) -> _Exchange:
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._clock.cancel()
        self._connection.close()

    def run(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Reply:
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        stage = "no connection"
        try:
            self._connection.connect()
            stage, self._socket = "no answer", self._connection.sock
            self._connection.sock.settimeout(self._limits.read_s)
            self._connection.request(method, target, body, dict(headers))
            response = self._connection.getresponse()
            stage = "the answer broke off"
            reply = Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, self._body(response))
            if self._late.is_set():  # cut within the headers, what came looks like a whole answer
                raise TimeoutError
            return reply
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Transient(self._words(stage, error)) from None  # the cause may quote a header

    def _body(self, response: http.client.HTTPResponse) -> bytes:
        body = response.read(self._limits.body_bytes + 1)
        if len(body) > self._limits.body_bytes:
            raise UpstreamFailure(f"an answer of more than {self._limits.body_bytes} bytes")
        if response.length:  # read(n) returns what came before the connection closed and does not complain
            raise http.client.IncompleteRead(body, response.length)
        return body

    def _cut(self) -> None:
        """Shut the connection down under whoever reads from it."""
        self._late.set()
        held = self._socket or self._connection.sock
        if held is not None:
            try:
                socket.socket.shutdown(held, socket.SHUT_RDWR)  # below TLS, whose own shutdown would wait
            except OSError:
                return

    def _words(self, stage: str, error: Exception) -> str:
        if self._late.is_set():
            return f"no whole answer within {self._limits.total_s:g} s"
        if isinstance(error, TimeoutError):
            wait = self._limits.connect_s if stage == "no connection" else self._limits.read_s
            return f"{stage}: silence for {wait:g} s"
        if isinstance(error, ssl.SSLCertVerificationError):
            return f"{stage}: the certificate is not valid: {error.verify_message}"
        return f"{stage}: {error.strerror or type(error).__name__}" if isinstance(error, OSError) else stage
