"""The HTTP face: statuses, errors that help, tokens, batches, metrics; and a real server under a real client."""
from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from environment.core.calls import ResultStatus
from environment.core.errors import ConfigError, WorldError
from environment.server.app import build_app
from environment.server.client import HttpWorld
from environment.server.pool import SessionPool
from environment.server.run import ServerSettings, check, serve
from environment.server.tests.support import CITY, TASK, TOOL, WORLD, call, parse
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.session import Session


def client(token: str | None = None, **settings: Any) -> TestClient:
    return TestClient(build_app(SessionPool(WORLD, parse, **settings), token))


def opened(http: TestClient) -> str:
    return http.post("/v1/sessions", json={"task": TASK.to_json()}).json()["session"]


def test_an_episode_over_http() -> None:
    http = client()
    begun = http.post("/v1/sessions", json={"task": TASK.to_json(), "limits": {"max_turns": 3}})
    assert begun.status_code == 201
    path = f"/v1/sessions/{begun.json()['session']}"
    reply = http.post(f"{path}/step", json={"number": 0, "text": call(query=CITY)})
    assert reply.status_code == 200 and reply.json()["statuses"] == ["ok"]
    assert http.post(f"{path}/step", json={"number": 2, "text": "x"}).status_code == 409
    assert http.delete(path).json()["calls"][0]["name"] == TOOL
    assert http.post("/v1/sessions/none/step", json={"number": 0, "text": "x"}).status_code == 404


def test_errors_say_what_and_where_and_echo_nothing() -> None:
    http = client(capacity=1)
    wrong = http.post("/v1/sessions", json={"task": {}, "seeds": 3, "limits": []})
    assert wrong.status_code == 422
    places = [p["at"] for p in wrong.json()["error"]["problems"]]
    assert places == ["body.limits", "body.seeds"] or sorted(places) == ["body.limits", "body.seeds"]
    near = http.post("/v1/sessions", json={"task": TASK.to_json(), "limits": {"max_turn": 1}})
    assert near.status_code == 400 and near.json()["error"]["nearest"] == "max_turns"
    opened(http)
    full = http.post("/v1/sessions", json={"task": TASK.to_json()})
    assert full.status_code == 429 and full.headers["retry-after"] == "1"
    assert http.post("/v1/call", content=b"{" * 10_000).status_code == 422


def test_one_failing_step_of_a_batch_costs_no_other() -> None:
    http = client()
    names = [opened(http) for _ in range(3)]
    steps = [{"session": n, "number": 0, "text": call(query=CITY)} for n in [*names, "gone"]]
    replies = http.post("/v1/steps", json={"steps": steps}).json()["replies"]
    assert [r.get("statuses") for r in replies] == [["ok"], ["ok"], ["ok"], None]
    assert replies[3]["status"] == 404


def test_a_token_guards_everything_but_health() -> None:
    http = client("s3cret")
    assert http.get("/health").status_code == 200
    assert http.post("/v1/call", json={"name": TOOL}).status_code == 401
    assert http.get("/metrics").status_code == 401
    head = {"Authorization": "Bearer s3cret"}
    good = http.post("/v1/call", json={"name": TOOL, "arguments": {"query": CITY}}, headers=head)
    assert good.json()["status"] == "ok"
    assert http.post("/v1/call", json={"name": TOOL}, headers={"Authorization": "Bearer s3cre"}).status_code == 401


def test_metrics_count_what_happened() -> None:
    http = client()
    name = opened(http)
    http.post(f"/v1/sessions/{name}/step", json={"number": 0, "text": call(query="nowhere at all")})
    text = http.get("/metrics").text
    assert "world_sessions_open 1" in text
    assert 'world_events_total{event="call_miss"} 1' in text
    assert 'world_http_seconds_count{route="/v1/sessions/{session}/step"} 1' in text


def test_verl_tools_shape() -> None:
    http = client()
    name = opened(http)
    body: dict[str, Any] = {"trajectory_ids": [name, "gone"], "actions": [call(query=CITY), "x"]}
    body["extra_fields"] = [{"finish": False}, {}]
    found = http.post("/get_observation", json=body).json()
    assert CITY in found["observations"][0]
    assert (found["dones"], found["valids"]) == ([False, True], [True, False])
    assert http.post("/get_observation", json={"trajectory_ids": ["a"], "actions": []}).status_code == 400


def test_routes_are_documented() -> None:
    http = client()
    paths = http.get("/openapi.json").json()["paths"]
    assert {"/v1/sessions", "/v1/steps", "/v1/call", "/get_observation", "/health", "/metrics"} <= set(paths)
    assert http.get("/docs").status_code == 200


@pytest.mark.parametrize(
    ("host", "fine"), [("127.0.0.1", True), ("localhost", True), ("::1", True), ("0.0.0.0", False)]
)
def test_others_may_connect_only_with_a_token(host: str, fine: bool) -> None:
    check(ServerSettings(host=host), "token")
    if fine:
        check(ServerSettings(host=host), None)
        return
    with pytest.raises(ConfigError, match="needs a token"):
        check(ServerSettings(host=host), None)


@pytest.mark.parametrize("host", ["127.0.0.1", "no.such.host.invalid"])
def test_an_address_that_cannot_be_listened_on_is_said_before_anything_starts(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOOL_RL_SERVE_TOKEN", "t")
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="can't listen"):
        serve(SessionPool(WORLD, parse), ServerSettings(host=host, port=taken.getsockname()[1]))


SERVER = """
from environment.server.pool import SessionPool
from environment.server.run import ServerSettings, serve
from environment.server.tests.support import WORLD, parse
serve(SessionPool(WORLD, parse), ServerSettings(port=0), ready=lambda host, port: print(port, flush=True))
print("ended in order", flush=True)
"""


@pytest.fixture
def server() -> Iterator[tuple[subprocess.Popen[str], str]]:
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process, f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait(10)


async def test_rollouts_on_a_served_world_are_those_on_the_world_itself(
    server: tuple[subprocess.Popen[str], str],
) -> None:
    turns = [call(query=CITY), call("Search_Hotels", dest_id="x"), call("Serch", a=1), call(query="ü\ud800"), "Done."]
    here, there = WORLD, HttpWorld(server[1], WORLD.schemas)
    texts: list[dict[str, Any]] = []
    for world in (here, there):
        trajectory = await drive(ScriptPolicy(turns), Session(TASK, world, WORLD.schemas, Limits(), parse))
        texts.append({**trajectory.to_json(), "meta": None})
    assert texts[0] == texts[1]


def test_sigterm_ends_the_server_in_order_and_the_client_says_so(server: tuple[subprocess.Popen[str], str]) -> None:
    process, url = server
    world = HttpWorld(url, WORLD.schemas, timeout_s=5)
    assert world.call(TOOL, {"query": CITY}).status is ResultStatus.OK
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert process.stdout is not None and process.stdout.readline() == "ended in order\n"
    assert process.wait(10) == 0 and time.monotonic() - began < 8
    with pytest.raises(WorldError, match="the world server failed"):
        world.call(TOOL, {"query": CITY})


def test_a_kept_connection_that_was_closed_is_opened_again(server: tuple[subprocess.Popen[str], str]) -> None:
    world = HttpWorld(server[1], WORLD.schemas)
    first = world.call(TOOL, {"query": CITY})
    world._local.connection.sock.shutdown(2)  # pyright: ignore[reportPrivateUsage]
    assert world.call(TOOL, {"query": CITY}) == first


def test_only_http_addresses(server: tuple[subprocess.Popen[str], str]) -> None:
    with pytest.raises(ConfigError, match="http://HOST:PORT"):
        HttpWorld("file:///etc/passwd", WORLD.schemas)
    assert os.environ.get("TOOL_RL_SERVE_TOKEN") is None
