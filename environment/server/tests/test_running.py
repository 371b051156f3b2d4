"""A real server under real clients: killed in the middle, asked twice at once, dripped at, told secrets."""
from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("fastapi")

from environment.core.calls import ResultStatus
from environment.core.errors import WorldError
from environment.server.client import HttpWorld
from environment.server.tests.running import Running, running
from environment.server.tests.support import CITY, TASK, TOOL, WORLD, call

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]


def ask(server: Running, method: str, path: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def opened(server: Running) -> str:
    status, reply = ask(server, "POST", "/v1/sessions", {"task": TASK.to_json()})
    assert status == 201
    return reply["session"]


def test_a_killed_server_fails_its_calls_in_time_and_another_goes_on() -> None:
    outcomes: list[str] = []
    with running() as server:
        port = server.port
        worlds = [HttpWorld(server.url, WORLD.schemas, timeout_s=3) for _ in range(4)]

        def keep_asking(world: HttpWorld) -> None:
            try:
                while True:
                    assert world.call(TOOL, {"query": CITY}).status is ResultStatus.OK
            except WorldError as error:
                outcomes.append(error.what)

        threads = [threading.Thread(target=keep_asking, args=(world,)) for world in worlds]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        server.process.send_signal(signal.SIGKILL)
        began = time.monotonic()
        for thread in threads:
            thread.join(10)
        assert time.monotonic() - began < 5
    assert len(outcomes) == 4 and all("world server failed" in what for what in outcomes)
    with running(port) as again:
        assert worlds[0].call(TOOL, {"query": CITY}).status is ResultStatus.OK, "the same client finds the new server"
        assert ask(again, "DELETE", f"/v1/sessions/{opened(again)}")[0] == 200


def test_a_step_posted_many_times_at_once_is_applied_once() -> None:
    with running() as server, ThreadPoolExecutor(8) as pool:
        name = opened(server)
        path, body = f"/v1/sessions/{name}/step", {"number": 0, "text": call(query=CITY)}
        asked = [pool.submit(ask, server, "POST", path, body) for _ in range(32)]
        replies = [one.result() for one in asked]
        assert all(reply == replies[0] and reply[0] == 200 for reply in replies)
        trajectory = ask(server, "DELETE", f"/v1/sessions/{name}")[1]
    assert len(trajectory["calls"]) == 1


def test_slow_clients_hold_up_nobody() -> None:
    with running() as server:
        slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(40)]
        try:
            for number, connection in enumerate(slow):
                half = b"POST /v1/call HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"
                connection.sendall(half if number % 2 else half[:40])
            world = HttpWorld(server.url, WORLD.schemas, timeout_s=2)
            began = time.monotonic()
            for _ in range(50):
                assert world.call(TOOL, {"query": CITY}).status is ResultStatus.OK
            assert time.monotonic() - began < 2
        finally:
            for connection in slow:
                connection.close()


def test_a_client_that_leaves_before_its_answer_costs_nothing() -> None:
    with running() as server:
        name = opened(server)
        body = json.dumps({"number": 0, "text": call(query=CITY)}).encode()
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            head = f"POST /v1/sessions/{name}/step HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        status, reply = ask(server, "POST", f"/v1/sessions/{name}/step", json.loads(body))
        assert (status, reply["statuses"]) == (200, ["ok"]), "the step is applied once, whoever hears of it"
        assert len(ask(server, "DELETE", f"/v1/sessions/{name}")[1]["calls"]) == 1


def test_no_secret_is_logged_or_told() -> None:
    token = "tok-5f2c-very-secret"
    with running(log_level="trace", token=token) as server:
        assert ask(server, "GET", "/health")[0] == 200
        said = [
            ask(server, "POST", "/v1/call", {"name": TOOL, "arguments": {"query": CITY}}, token),
            ask(server, "POST", "/v1/call", {"name": 5, "argumnts": token}, token),
            ask(server, "POST", "/v1/call", {"name": TOOL}, token[:-1] + "x"),
            ask(server, "GET", "/nowhere", None, token),
        ]
        assert [status for status, _ in said] == [200, 422, 401, 404]
        server.process.send_signal(signal.SIGTERM)
        out, err = server.process.communicate(timeout=20)
    assert token not in out + err + json.dumps(said)
    assert "ended in order" in out
