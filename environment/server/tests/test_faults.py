"""What models and clients do wrong: bodies, names, ids, repetitions, crowds. A server stays up and says what it is."""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from environment.core.tests.made import json_values
from environment.server import front
from environment.server.app import build_app
from environment.server.pool import SessionPool
from environment.server.tests.support import CITY, TASK, TOOL, WORLD, call, parse
from environment.server.wire import OpenRequest, StepRequest

pytestmark = pytest.mark.timeout(60)
JSON = {"Content-Type": "application/json"}
SLOWEST_S = 0.5
"""Processor time, ten times what the odd requests below take; they must not take seconds."""


def client(token: str | None = None, **options: Any) -> TestClient:
    return TestClient(build_app(SessionPool(WORLD, parse, **options), token))


def opened(http: TestClient) -> str:
    return http.post("/v1/sessions", json={"task": TASK.to_json()}).json()["session"]


def deep(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b'{"name": 5}', b"\xff\xfe", b'{"name": "x", "argument": {}}', deep(100_000).encode()],
)
@pytest.mark.parametrize("path", ["/v1/call", "/v1/steps", "/v1/sessions", "/v1/sessions/none/step"])
def test_a_body_that_does_not_fit_is_an_error_that_says_so(path: str, body: bytes) -> None:
    http = client()
    began = time.process_time()
    reply = http.post(path, content=body, headers=JSON)
    assert time.process_time() - began < SLOWEST_S
    assert reply.status_code in (400, 422) and reply.json()["error"]["what"]
    assert http.get("/health").status_code == 200


@pytest.mark.parametrize(
    "arguments",
    [
        '{"query": NaN}', '{"query": 1e400}', '{"query": -Infinity}', f'{{"query": {deep(1000)}}}',
        f'{{"query": {deep(150)}}}', f'{{"query": "{"x" * 10_000_000}"}}', f'{{"query": {"9" * 5000}}}',
        '{"query": "\\ud800"}', '{"query": "__import__(\'os\').system(\'touch CANARY\')"}',
        '{"query": "{0.__class__.__mro__}"}', '{"__class__": "x", "query": "a"}',
        json.dumps({"query": "a", **{f"name{i}": i for i in range(50_000)}}),
    ],
)  # fmt: skip
def test_odd_arguments_get_an_answer_and_nothing_is_executed(
    arguments: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    http = client()
    began = time.process_time()
    reply = http.post("/v1/call", content=f'{{"name": "{TOOL}", "arguments": {arguments}}}'.encode(), headers=JSON)
    assert time.process_time() - began < 2 * SLOWEST_S
    if reply.status_code == 200:
        assert reply.json()["status"] in ("miss", "invalid_arguments")
        assert len(reply.content) < 2000, "the model is not sent its own mistake back at length"
    else:
        assert reply.status_code in (400, 422) and reply.json()["error"]["what"]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name",
    ["", "__class__", "call", "__import__('os')", "x" * 10_000_000, f"mcp__world__{TOOL}", TOOL.replace("o", "о"),
     f"{TOOL}\x00", f" {TOOL}", TOOL.lower(), "../../etc/passwd"],
)  # fmt: skip
def test_only_the_exact_name_of_a_tool_is_a_tool(name: str) -> None:
    http = client()
    began = time.process_time()
    reply = http.post("/v1/call", json={"name": name, "arguments": {"query": CITY}}).json()
    assert time.process_time() - began < SLOWEST_S
    assert reply["status"] == "unknown_tool"
    assert len(reply["value"]["error"]) < 200
    if 0 < len(name) - len(TOOL) < 9 or name == TOOL.lower():
        assert TOOL in reply["value"]["error"], "the nearest name is told"


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=30), st.dictionaries(st.text(max_size=6), json_values, max_size=3))
def test_any_call_at_all_gets_an_answer_that_is_the_worlds(name: str, arguments: dict[str, Any]) -> None:
    body = json.dumps({"name": name, "arguments": arguments})
    reply = client().post("/v1/call", content=body.encode(), headers=JSON)
    if reply.status_code == 200:
        want = WORLD.call(name, json.loads(body)["arguments"])
        assert (reply.json()["status"], reply.json()["value"]) == (want.status, want.value)
    else:
        assert "\\ud" in body, "only an unpaired surrogate in a name can't be answered"


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "..%2f..%2fx", "%00", "x" * 300, "CON", "a b", "%ff%fe", ".", "*", "'; DROP TABLE x"]
)
def test_path_like_ids_are_unknown_sessions_and_nothing_else(name: str) -> None:
    http = client()
    path = f"/v1/sessions/{name}"
    for reply in (http.post(f"{path}/step", json={"number": 0, "text": "x"}), http.delete(path)):
        assert reply.status_code in (404, 405)
        assert len(reply.content) < 400 and reply.json()["error"]["what"]


def test_a_body_beyond_all_bounds_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "MOST_BYTES", 1000)
    http = client()
    name = opened(http)
    long = http.post(f"/v1/sessions/{name}/step", json={"number": 0, "text": "x" * 2000})
    assert long.status_code == 413 and "1000" in long.json()["error"]["expected"]
    assert http.post(f"/v1/sessions/{name}/step", json={"number": 0, "text": "x"}).status_code == 200


def test_the_front_and_fastapi_say_the_same() -> None:
    """The busy routes, answered before FastAPI and by it: a body of another type is not seen by the front."""
    quick = client()
    plain = TestClient(build_app(SessionPool(WORLD, parse)).app)
    seen: list[list[Any]] = []
    for http in (quick, plain):
        name = opened(http)
        path = f"/v1/sessions/{name}"
        asked = [
            http.post(f"{path}/step", json={"number": 0, "text": call(query=CITY)}),
            http.post(f"{path}/step", json={"number": 0, "text": "other"}),
            http.post(f"{path}/step", json={"number": 5, "text": "x"}),
            http.post(f"{path}/step", json={"number": -1, "text": 3, "more": 1}),
            http.post(f"{path}/step", json={"number": "1", "text": "Done."}),
            http.post("/v1/steps", json={"steps": [{"session": "gone", "number": 0, "text": ""}]}),
            http.post("/v1/call", json={"name": TOOL, "arguments": {"query": CITY}}),
            http.post("/v1/sessions", json={"task": {}}),
            http.post("/v1/sessions", json={"task": TASK.to_json(), "limits": {"max_turn": 1}}),
            http.delete(path),
            http.post("/nowhere", json={}),
        ]
        seen.append([(r.status_code, r.headers["content-type"], _timeless(r.text.replace(name, "ID"))) for r in asked])
    assert seen[0] == seen[1]
    assert [status for status, *_ in seen[0]] == [200, 409, 409, 422, 200, 200, 200, 400, 400, 200, 404]


def _timeless(text: str) -> str:
    row: dict[str, Any] = json.loads(text) if text.startswith("{") else {}
    if "meta" not in row:
        return text
    row["meta"].pop("seconds")
    return json.dumps(row)


def test_one_batch_of_many_is_many_of_one() -> None:
    turns = [[call(query=CITY), call(query="nowhere"), "Done."] for _ in range(6)]
    ends: list[list[Any]] = []
    for batched in (True, False):
        http = client()
        names = [opened(http) for _ in turns]
        for number in range(3):
            steps = [{"session": n, "number": number, "text": turns[i][number]} for i, n in enumerate(names)]
            if batched:
                http.post("/v1/steps", json={"steps": steps})
            else:
                for step in steps:
                    http.post(f"/v1/sessions/{step.pop('session')}/step", json=step)
        ends.append([{**http.delete(f"/v1/sessions/{n}").json(), "meta": None} for n in names])
    assert ends[0] == ends[1] and len(ends[0][0]["calls"]) == 2


def test_sessions_that_nobody_closes_are_forgotten_and_never_more_than_there_is_room_for() -> None:
    now = [0.0]
    pool = SessionPool(WORLD, parse, capacity=64, ttl_s=30.0, clock=lambda: now[0])
    request = OpenRequest(task=TASK.to_json())
    most = 0
    for _ in range(2000):
        now[0] += 1.0
        name = pool.open(request)["session"]
        pool.step(name, StepRequest(number=0, text=call(query=CITY)))
        most = max(most, len(pool._sessions))  # pyright: ignore[reportPrivateUsage]
    assert most <= 31 and pool.events["expired"] >= 2000 - 31
    now[0] += 31.0
    assert pool.reap() <= 31 and pool.open_count == 0 and not pool._sessions  # pyright: ignore[reportPrivateUsage]


def test_four_times_more_than_there_is_room_for_loses_nothing_that_was_accepted() -> None:
    http = client(capacity=16)
    replies = [http.post("/v1/sessions", json={"task": TASK.to_json()}) for _ in range(64)]
    accepted = [r.json()["session"] for r in replies if r.status_code == 201]
    refused = [r for r in replies if r.status_code == 429]
    assert (len(accepted), len(refused)) == (16, 48)
    assert all(r.headers["retry-after"] == "1" for r in refused)
    for name in accepted:
        assert http.post(f"/v1/sessions/{name}/step", json={"number": 0, "text": call(query=CITY)}).status_code == 200
    ends = [http.delete(f"/v1/sessions/{name}").json() for name in accepted]
    assert all(len(end["calls"]) == 1 and end["results"][0]["status"] == "ok" for end in ends)
    assert http.post("/v1/sessions", json={"task": TASK.to_json()}).status_code == 201, "there is room again"
