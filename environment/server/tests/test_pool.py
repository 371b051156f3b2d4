"""Open sessions: numbered steps, room, expiry; no HTTP."""
from __future__ import annotations

import json
from typing import Any

import pytest

from environment.core.errors import ConfigError
from environment.server import pool as pool_module
from environment.server.pool import Draining, Full, OutOfStep, PoolError, SessionPool, UnknownSession
from environment.server.tests.support import CITY, TASK, TOOL, WORLD, call, parse
from environment.server.wire import OpenRequest, StepRequest
from environment.session.drive import ScriptPolicy, drive
from environment.session.limits import Limits
from environment.session.session import Session


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def pool(**settings: Any) -> SessionPool:
    return SessionPool(WORLD, parse, **settings)


def opened(of: SessionPool, **more: Any) -> str:
    return of.open(OpenRequest(task=TASK.to_json(), **more))["session"]


def turn(number: int, text: str, **more: Any) -> StepRequest:
    return StepRequest(number=number, text=text, **more)


def test_an_episode_from_opening_to_trajectory() -> None:
    here = pool()
    begun = here.open(OpenRequest(task=TASK.to_json(), seed=7))
    assert [m["role"] for m in begun["messages"]] == ["system", "user"]
    assert [t["function"]["name"] for t in begun["tools"]] == [TOOL, "Search_Hotels"]
    name = begun["session"]
    reply = here.step(name, turn(0, call(query=CITY)))
    assert (reply["done"], reply["stop"], reply["statuses"]) == (False, None, ["ok"])
    assert CITY in reply["messages"][0]["content"]
    last = here.step(name, turn(1, "It is there."))
    assert (last["done"], last["stop"], last["messages"]) == (True, "answer", [])
    text = here.close(name)
    trajectory = json.loads(text)
    assert trajectory["stop"] == "answer" and trajectory["seed"] == 7 and len(trajectory["calls"]) == 1
    assert here.close(name) == text
    assert here.open_count == 0
    assert here.events == {"opened": 1, "steps": 2, "call_ok": 1, "closed": 1}


async def test_a_served_trajectory_is_the_driven_one() -> None:
    turns = [call(query=CITY), "CALL {broken", call(query="nowhere"), "Done."]
    here = pool()
    name = opened(here)
    for number, text in enumerate(turns):
        here.step(name, turn(number, text))
    served = json.loads(here.close(name))
    driven = (await drive(ScriptPolicy(turns), Session(TASK, WORLD, WORLD.schemas, Limits(), parse))).to_json()
    assert {**served, "meta": None} == {**json.loads(json.dumps(driven)), "meta": None}


def test_a_repeated_step_is_applied_once() -> None:
    here = pool()
    name = opened(here)
    first = here.step(name, turn(0, call(query=CITY)))
    assert here.step(name, turn(0, call(query=CITY))) is first
    with pytest.raises(OutOfStep, match="another turn was taken"):
        here.step(name, turn(0, "something else"))
    assert len(json.loads(here.close(name))["calls"]) == 1 and here.events["repeated"] == 1


@pytest.mark.parametrize("number", [1, 5])
def test_a_step_out_of_order_is_refused(number: int) -> None:
    here = pool()
    name = opened(here)
    with pytest.raises(OutOfStep, match="out of order"):
        here.step(name, turn(number, "x"))
    here.step(name, turn(0, "Bye."))
    with pytest.raises(OutOfStep, match="has ended"):
        here.step(name, turn(1, "x"))


def test_no_room_is_said_and_room_comes_back() -> None:
    here = pool(capacity=2)
    names = [opened(here) for _ in range(2)]
    with pytest.raises(Full):
        opened(here)
    here.close(names[0])
    opened(here)
    assert here.events["refused"] == 1 and here.open_count == 2


def test_abandoned_sessions_go_touched_ones_stay() -> None:
    clock = Clock()
    here = pool(ttl_s=10, clock=clock)
    left, kept, closed = (opened(here) for _ in range(3))
    here.close(closed)
    clock.now = 8
    here.step(kept, turn(0, call(query=CITY)))
    clock.now = 11
    assert here.reap() == 1 and here.events["expired"] == 1 and here.open_count == 1
    for name in (left, closed, "never"):
        with pytest.raises(UnknownSession):
            here.step(name, turn(0, "x"))
    here.step(kept, turn(1, "Bye."))


def test_a_trajectory_can_be_had_again_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "CLOSED_BYTES", 40_000)
    clock = Clock()
    here = pool(ttl_s=10, clock=clock)
    first = opened(here)
    text = here.close(first)
    clock.now = 9
    assert here.close(first) == text
    for _ in range(100):
        here.close(opened(here))
    with pytest.raises(UnknownSession, match="no such session"):
        here.close(first)
    last = opened(here)
    here.close(last)
    clock.now = 20
    with pytest.raises(UnknownSession):
        here.close(last)


def test_ten_thousand_abandoned_sessions_leave_nothing_behind() -> None:
    clock = Clock()
    here = pool(ttl_s=1, capacity=10, clock=clock)
    for _ in range(10_000):
        opened(here)
        clock.now += 0.2
    assert here.open_count <= 6


def test_time_limits_and_draining() -> None:
    clock = Clock()
    here = pool(clock=clock)
    name = opened(here, limits={"max_seconds": 5})
    clock.now = 6
    with pytest.raises(OutOfStep, match="has ended"):
        here.step(name, turn(0, "x"))
    assert json.loads(here.close(name))["stop"] == "max_seconds"
    other = opened(here)
    here.draining = True
    with pytest.raises(Draining):
        opened(here)
    assert here.step(other, turn(0, "Bye."))["done"]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"max_turn": 3}, "max_turns"),
        ({"max_turns": "3"}, "a number"),
        ({"max_turns": True}, "a number"),
        ({"max_turns": 0}, "above 0"),
    ],
)
def test_wrong_limits_are_named(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(PoolError, match=said):
        opened(pool(), limits=wrong)


@pytest.mark.parametrize("task", [{}, {"id": 1, "query": 2, "tools": 3, "steps": 4}, {"steps": [1]}])
def test_what_is_no_task_is_refused(task: dict[str, Any]) -> None:
    with pytest.raises(PoolError, match="not a task"):
        pool().open(OpenRequest(task=task))


def test_a_pool_needs_room_and_time() -> None:
    with pytest.raises(ConfigError):
        pool(capacity=0)
