"""A world that waits for an upstream: one who waits keeps nobody else waiting, and a session is never stepped twice."""
from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from environment.cache.recording import RecordingWorld
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.server.app import build_app
from environment.server.pool import SessionPool
from environment.server.tests.support import CITY, TASK, TOOL, WORLD, call, parse

pytestmark = pytest.mark.timeout(30)


class Slow:
    """The world of the other tests behind a door that someone has to open."""

    waits = True

    def __init__(self) -> None:
        self.schemas = WORLD.schemas
        self.asked, self.door = threading.Event(), threading.Event()
        self.calls = 0

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        self.calls += 1
        self.asked.set()
        assert self.door.wait(20)
        return WORLD.call(name, arguments)

    def halt(self) -> None:
        self.door.set()


@pytest.fixture
def slow() -> Slow:
    return Slow()


def connected(slow: Slow) -> TestClient:
    """Return a client all of whose requests, from whatever thread, are answered by one event loop."""
    return TestClient(build_app(SessionPool(slow, parse)))


@pytest.mark.parametrize("path", ["/v1/call", "/get_observation"])
def test_others_are_answered_while_one_waits(slow: Slow, path: str) -> None:
    with connected(slow) as http, ThreadPoolExecutor() as threads:
        begun = http.post("/v1/sessions", json={"task": TASK.to_json()}).json()
        bodies: dict[str, dict[str, Any]] = {
            "/v1/call": {"name": TOOL, "arguments": {"query": CITY}},
            "/get_observation": {"trajectory_ids": [begun["session"]], "actions": [call(query=CITY)]},
        }
        waiting = threads.submit(http.post, path, json=bodies[path])
        assert slow.asked.wait(10)
        assert http.get("/health").json()["sessions"] == 1
        assert http.post("/v1/sessions", json={"task": TASK.to_json()}).status_code == 201
        assert not waiting.done()
        slow.door.set()
        assert waiting.result(10).status_code == 200


def test_a_step_sent_again_while_it_is_taken_is_taken_once(slow: Slow) -> None:
    with connected(slow) as http, ThreadPoolExecutor() as threads:
        begun = http.post("/v1/sessions", json={"task": TASK.to_json()}).json()
        path, body = f"/v1/sessions/{begun['session']}", {"number": 0, "text": call(query=CITY)}
        first = threads.submit(http.post, f"{path}/step", json=body)
        assert slow.asked.wait(10)
        again = threads.submit(http.post, f"{path}/step", json=body)
        closing = threads.submit(http.delete, path)
        time.sleep(0.05)
        assert not again.done() and not closing.done()
        slow.door.set()
        assert first.result(10).json()["statuses"] == ["ok"]
        ended = closing.result(10).json()
        assert [made["name"] for made in ended["calls"]] == [TOOL] and slow.calls == 1
        # Closing and repeating raced for the session: either answer is right, a second call is not.
        assert again.result(10).status_code in (200, 404, 409)


def test_a_recording_world_waits_as_its_upstream_does(tmp_path: Any, slow: Slow) -> None:
    with RecordingWorld(tmp_path / "a.journal", slow) as live, RecordingWorld(tmp_path / "b.journal", WORLD) as quick:
        assert live.waits and not quick.waits
        quick.halt()
        live.halt()
        assert live.call(TOOL, {"query": CITY}).status is ResultStatus.OK


def test_many_threads_share_a_pool_without_losing_a_step(slow: Slow) -> None:
    from environment.server.wire import OpenRequest, StepRequest

    slow.door.set()
    pool = SessionPool(slow, parse)

    def episode() -> None:
        for _ in range(10):
            name = pool.open(OpenRequest(task=TASK.to_json()))["session"]
            pool.step(name, StepRequest(number=0, text=call(query=CITY)))
            pool.close(name)

    threads = [threading.Thread(target=episode) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: pool.events[name] for name in ("opened", "steps", "closed", "call_ok")} == {
        "opened": 80, "steps": 80, "closed": 80, "call_ok": 80,
    }  # fmt: skip
    assert pool.open_count == 0
