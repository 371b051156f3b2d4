"""Whatever stands at the other end, a call of a served world ends in time as an answer or as a WorldError."""
from __future__ import annotations

import asyncio
import pickle
import socket
import time
from typing import Any

import pytest

from environment.core.calls import ResultStatus
from environment.core.errors import ConfigError, WorldError
from environment.core.trajectory import StopReason
from environment.server.client import HttpWorld, address
from environment.server.tests.broken_peer import Behaviour, page, peer, says
from environment.server.tests.support import CITY, TASK, TOOL, WORLD, call, parse
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.session import Session

pytestmark = pytest.mark.timeout(20)
GOOD = page(b'{"status":"ok","value":{"data":[]}}')


def drips(connection: socket.socket) -> None:
    """Send a byte of a good answer every tenth of a second: each comes in time, the whole never does."""
    for byte in GOOD:
        connection.sendall(bytes([byte]))
        time.sleep(0.1)


def hangs(connection: socket.socket) -> None:
    time.sleep(5)


def stops_in_the_middle(connection: socket.socket) -> None:
    connection.sendall(page(b'{"status":"ok","val', length=5000))


@pytest.mark.parametrize(
    "behave",
    [
        says(page(b"<html><body>Welcome</body></html>")),
        says(page(b"oh no", status="500 Internal Server Error")),
        says(page(b'{"status":"ok","value":{"da', length=27)),
        says(page(b'{"status":"fine","value":1}')),
        says(page(b'{"value":1}')),
        says(page(b"[1,2]")),
        says(page(b"[" * 100_000)),
        says(page(b"")),
        says(b"SSH-2.0-OpenSSH_9.6\r\n"),
        says(b""),
        says(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}"),
        stops_in_the_middle,
        hangs,
        drips,
    ],
)
def test_a_broken_server_is_a_world_error_within_the_deadline(behave: Behaviour) -> None:
    with peer(behave) as (url, seen):
        world = HttpWorld(url, WORLD.schemas, token="s3cret-token", timeout_s=0.4)
        began = time.monotonic()
        with pytest.raises(WorldError) as caught:
            world.call(TOOL, {"query": CITY})
    assert time.monotonic() - began < 1.5
    assert 1 <= len(seen) <= 2, "at most one repetition"
    assert "s3cret" not in str(caught.value)


def test_nobody_listening_is_said_with_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(WorldError, match=f"127.0.0.1:{port}") as caught:
        HttpWorld(f"http://127.0.0.1:{port}", WORLD.schemas).call(TOOL, {"query": CITY})
    assert "tool-rl serve" in str(caught.value)


def test_a_refused_token_says_which_variable() -> None:
    with peer(says(page(b"{}", status="401 Unauthorized"))) as (url, _), pytest.raises(WorldError, match="SERVE_TOKEN"):
        HttpWorld(url, WORLD.schemas).call(TOOL, {"query": CITY})


async def test_a_tool_that_never_answers_ends_its_episode_and_no_other() -> None:
    """The step is waited for, up to the deadline of its call, and the failure is the infrastructure's."""
    with peer(hangs) as (url, _):
        served = HttpWorld(url, WORLD.schemas, timeout_s=0.6)
        stuck = Session(TASK, served, WORLD.schemas, Limits(), parse)
        fine = Session(TASK, WORLD, WORLD.schemas, Limits(), parse)
        turns = [call(query=CITY), "Done."]
        waiting = asyncio.create_task(drive(ScriptPolicy(turns), stuck))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        other = await drive(ScriptPolicy(turns), fine)
        assert time.monotonic() - began < 0.3 and not waiting.done(), "the other episode did not wait"
        ended = await waiting
    assert other.stop is StopReason.ANSWER
    assert (ended.stop, ended.results[0].status) == (StopReason.INFRASTRUCTURE, ResultStatus.NOT_EXECUTED)
    assert "TimeoutError" in (ended.error or "") and ended.results[0].value == {"error": "the tool service failed"}


async def test_time_that_is_up_during_a_call_leaves_a_whole_record() -> None:
    with peer(hangs) as (url, _):
        served = HttpWorld(url, WORLD.schemas, timeout_s=0.5)
        session = Session(TASK, served, WORLD.schemas, Limits(max_seconds=0.1), parse)
        ended = await drive(ScriptPolicy([call(query=CITY), "Done."]), session)
    assert len(ended.calls) == len(ended.results) == 1
    assert ended.stop in (StopReason.MAX_SECONDS, StopReason.INFRASTRUCTURE)
    assert [m["role"] for m in ended.messages] == ["system", "user", "assistant", "tool"]


def test_a_served_world_travels_by_address() -> None:
    with peer(says(GOOD)) as (url, _):
        world: Any = pickle.loads(pickle.dumps(HttpWorld(url, WORLD.schemas, "t", 3.0)))
        assert world.call(TOOL, {"query": CITY}).value == {"data": []}


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8400", "https://x:1", "http://", "http://x:port", "http://x:99999", "http://x/y", "http://[::1"],
)
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    with pytest.raises(ConfigError, match="http://HOST:PORT"):
        address(url)


def test_a_login_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ConfigError) as caught:
        address("http://me:hunter22@host:1")
    assert "hunter22" not in str(caught.value) and "TOOL_RL_SERVE_TOKEN" in str(caught.value)
