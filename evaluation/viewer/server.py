"""Serves the viewer to this machine alone: loopback, known host names, reading only, nothing that could run.

    GET /             the list; filters stand behind `?`
    GET /t/3-17       line 17 of the third file; the same filters lead on to its neighbours
    GET /raw/3-17     that line as it is stored
    GET /style.css

No part of an address becomes a path. A page of another site that makes its name point here (DNS rebinding) is refused
by the Host header; what a model wrote is text, and the content security policy forbids all but our style sheet.
"""
from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import ClassVar, cast
from urllib.parse import urlsplit

from environment.core.errors import ConfigError
from evaluation.viewer.episode import make_episode
from evaluation.viewer.episode_page import episode_page, step_of
from evaluation.viewer.index import Index, Place
from evaluation.viewer.known import Known
from evaluation.viewer.list_page import list_page
from evaluation.viewer.query import Finder, read_query
from evaluation.viewer.shell import message, stylesheet
from evaluation.viewer.sources import find_source

LOOPBACK = "127.0.0.1"
POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
HTML, CSS, JSON_TEXT = "text/html; charset=utf-8", "text/css; charset=utf-8", "application/json; charset=utf-8"
FIRST_LOOK_S = 2.0
"""What is read in this time is there when the address is told; the rest comes while the page is already open."""
TIMEOUT_S = 30.0
"""A client that says nothing for so long is hung up on."""


@dataclass(frozen=True)
class Answer:
    """A reply."""

    status: HTTPStatus
    kind: str
    """Content type."""
    content: bytes
    location: str | None = None
    """Where to look instead."""


class Site:
    """What is looked at, and the pages made of it."""

    def __init__(self, path: Path, tasks: Path | None = None, schemas: Path | None = None) -> None:
        """Find the files.

        Raises:
            ConfigError: nothing is at `path`.
            DataError: no trajectories there, or the named tasks or schemas can't be read.
        """
        source = find_source(path)
        self.index = Index(source)
        self._known = Known(source, tasks, schemas)
        self._finder = Finder(self.index)
        self._style = stylesheet()

    def answer(self, target: str) -> Answer:
        """Return the answer to the address of a GET request."""
        parts = urlsplit(target)
        if parts.path == "/style.css":
            return Answer(HTTPStatus.OK, CSS, self._style)
        self.index.refresh()
        if parts.path == "/":
            return self._list(parts.query)
        kind, _, key = parts.path[1:].partition("/")
        place = self.index.find(key) if kind in ("t", "raw") else None
        if place is None:
            words = "This episode is not there, or not any more." if kind in ("t", "raw") else "There is no such page."
            return Answer(HTTPStatus.NOT_FOUND, HTML, message("Not found", words))
        try:
            return self._raw(place) if kind == "raw" else self._episode(place, parts.query)
        except (OSError, ValueError) as error:
            words = f"{place.file.title}, line {place.row.line}: {error}"
            return Answer(HTTPStatus.CONFLICT, HTML, message("This line cannot be shown", words))

    def _list(self, asked: str) -> Answer:
        query, problems = read_query(asked)
        if not problems and any(not pair.partition("=")[2] for pair in asked.split("&") if pair):
            return Answer(HTTPStatus.SEE_OTHER, HTML, b"", "/?" + query.address() if query.address() else "/")
        return Answer(HTTPStatus.OK, HTML, list_page(self.index, self._finder.find(query), query, problems))

    def _episode(self, place: Place, asked: str) -> Answer:
        query, _ = read_query(asked)
        task = self._known.task(place.row.task, place.file.path)
        episode = make_episode(place.trajectory(), task, self._known.schemas)
        step = step_of(place, self._finder.find(query))
        notes = self._known.problems if task is None else []
        return Answer(HTTPStatus.OK, HTML, episode_page(place, episode, query, step, notes))

    def _raw(self, place: Place) -> Answer:
        return Answer(HTTPStatus.OK, JSON_TEXT, place.file.line_of(place.row) + b"\n")


def is_own_host(header: str | None, port: int) -> bool:
    """Say whether a Host header names this server as a person here would: loopback by number or as localhost."""
    return header is not None and header.lower() in {f"{name}:{port}" for name in (LOOPBACK, "localhost")}


class _Handler(BaseHTTPRequestHandler):
    site: ClassVar[Site]
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "tool-rl", ""
    timeout = TIMEOUT_S

    def do_GET(self) -> None:
        """Answer with a page."""
        self._reply(self._answer())

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the terminal belongs to whoever started the viewer."""

    def _answer(self) -> Answer:
        port = int(cast("tuple[str, int]", self.server.server_address)[1])
        if not is_own_host(self.headers.get("Host"), port):
            words = f"Open http://{LOOPBACK}:{port}/ on the machine that runs the viewer."
            return Answer(HTTPStatus.FORBIDDEN, HTML, message("Not for this host", words))
        return self.site.answer(self.path)

    def _reply(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        if answer.location is not None:
            self.send_header("Location", answer.location)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def server_bind(self) -> None:
        """Bind without asking a name service who we are, as the base class would."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = LOOPBACK, int(self.socket.getsockname()[1])

    def handle_error(self, request: object, client_address: object) -> None:
        """Let go of a client that hung up; any other failure is shown."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)  # pyright: ignore[reportArgumentType]


def open_server(site: Site, port: int = 0) -> ThreadingHTTPServer:
    """Return a server of a site on loopback, listening; port 0 takes any free one.

    Raises:
        ConfigError: the port is taken or not allowed.
    """
    handler = type("Handler", (_Handler,), {"site": site})
    try:
        return _Server((LOOPBACK, port), handler)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no such port"
        fix = "name another with --port, or leave it out for a free one"
        raise ConfigError(f"cannot listen on port {port}: {reason}", where=LOOPBACK, fix=fix) from error


def serve(site: Site, port: int = 0, ready: Callable[[str], None] | None = None) -> None:
    """Serve until interrupted (KeyboardInterrupt passes through); `ready` is told the address once it listens."""
    with open_server(site, port) as server:
        look = threading.Thread(target=site.index.refresh, daemon=True)
        look.start()
        look.join(FIRST_LOOK_S)
        if ready is not None:
            ready(f"http://{LOOPBACK}:{server.server_address[1]}/")
        server.serve_forever(poll_interval=0.2)

