"""One request ends in time, whatever the other side does."""
from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from itertools import repeat

import pytest

from environment.core.errors import ConfigError
from environment.core.upstream import UpstreamFailure
from environment.upstream.http import HttpLimits, Transient, check_address, send
from environment.upstream.tests.stub import Asked, reply, stub

QUICK = HttpLimits(connect_s=0.5, read_s=0.3, total_s=0.8, body_bytes=1000)
SECRET = "k3y-that-no-text-may-hold"
HEADERS = {"X-RapidAPI-Key": SECRET}


def test_a_reply_comes_back_whole_with_its_headers() -> None:
    with stub(lambda asked: reply({"said": asked.query["q"]}, 418, Retry_After="7")) as service:
        got = send(f"{service.url}/a/b?q=%C3%98stfold", HEADERS, QUICK)
    assert (got.status, got.body, got.headers["retry-after"]) == (418, b'{"said": "\\u00d8stfold"}', "7")
    assert service.asked[0].path == "/a/b" and service.asked[0].headers["x-rapidapi-key"] == SECRET


def drip(wait: float) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n"
    for piece in repeat(b"x", 900):
        time.sleep(wait)
        yield piece


def header_drip(wait: float) -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nX: "
    for piece in repeat(b"x", 900):
        time.sleep(wait)
        yield piece


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("half open", "no answer: silence for 0.3 s"),
        ("drip", "no whole answer within 0.8 s"),
        ("header drip", "no whole answer within 0.8 s"),
        ("stops midway", "the answer broke off: silence for 0.3 s"),
        ("wrong length", "the answer broke off"),
        ("no http", "no answer"),
        ("closes at once", "no answer"),
        ("broken chunk", "the answer broke off"),
    ],
)
@pytest.mark.timeout(20)
def test_a_service_in_trouble_is_a_failure_in_time_without_the_key(name: str, said: str) -> None:
    def silent() -> Iterator[bytes]:
        service.done.wait(10)
        yield b""

    def midway() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"
        service.done.wait(10)

    answers = {
        "half open": silent, "stops midway": midway, "drip": lambda: drip(0.05),
        "header drip": lambda: header_drip(0.05),
        "wrong length": lambda: b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}", "no http": lambda: b"hello\r\n",
        "closes at once": lambda: b"",
        "broken chunk": lambda: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    }  # fmt: skip
    with stub(lambda _: answers[name]()) as service:
        began = time.monotonic()
        with pytest.raises(Transient, match=said) as caught:
            send(service.url, HEADERS, QUICK)
        assert time.monotonic() - began < 2
    assert SECRET not in str(caught.value) + repr(caught.value) and caught.value.__cause__ is None


def test_nobody_there_is_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(Transient, match="no connection"):
        send(f"http://127.0.0.1:{port}/", HEADERS, QUICK)


def test_a_full_backlog_ends_with_the_connection_time() -> None:
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for one in (first, second):  # fill the queue: nobody takes them
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        began = time.monotonic()
        with pytest.raises(Transient, match=r"no connection|no answer"):
            send(f"http://127.0.0.1:{full.getsockname()[1]}/", HEADERS, QUICK)
        assert time.monotonic() - began < 2


def test_an_endless_answer_is_cut_off() -> None:
    def endless(_: Asked) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n\r\n"
        yield from repeat(b"x" * 500, 100)

    with stub(endless) as service, pytest.raises(UpstreamFailure, match="more than 1000 bytes"):
        send(service.url, HEADERS, QUICK)


def test_a_redirect_is_not_followed() -> None:
    with stub(lambda _: reply({}, 302, Location="http://127.0.0.1:1/steal")) as service:
        assert send(service.url, HEADERS, QUICK).status == 302
        assert len(service.asked) == 1


def test_no_thread_is_left_behind() -> None:
    with stub(lambda _: reply({})) as service:
        before = threading.active_count()
        for _ in range(20):
            send(service.url, HEADERS, HttpLimits(total_s=60))
        time.sleep(0.1)
        assert threading.active_count() <= before + 1


@pytest.mark.parametrize("url", ["ftp://x", "nothing", "https://", "http://example.org/", "http://10.0.0.1"])
def test_a_key_goes_to_no_address_that_is_open_to_others(url: str) -> None:
    with pytest.raises(ConfigError, match="address"):
        check_address(url)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://localhost", "http://[::1]:80", "https://example.org"])
def test_encrypted_and_local_addresses_are_fine(url: str) -> None:
    assert check_address(url).hostname
