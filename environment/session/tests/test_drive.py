"""Driving: failures and time limits end up in the trajectory."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from environment.core.trajectory import StopReason, Trajectory
from environment.session.drive import ScriptPolicy, drive
from environment.session.tests.toy import CITY, DETAIL, LIST, ToyWorld, toy_session
from environment.session.turns import AssistantTurn

Act = Callable[[list[dict[str, Any]]], Awaitable[AssistantTurn]]


class FunctionPolicy:
    def __init__(self, act: Act) -> None:
        self.act = act


def run(act: Act, **limits: Any) -> Trajectory:
    return asyncio.run(drive(FunctionPolicy(act), toy_session(**limits)))


def test_a_script_is_played_to_its_answer() -> None:
    trajectory = asyncio.run(drive(ScriptPolicy([CITY, LIST, DETAIL, "fine"]), toy_session()))
    assert (trajectory.stop, trajectory.answer, len(trajectory.calls)) == (StopReason.ANSWER, "fine", 3)
    assert trajectory.meta["seconds"] >= 0


def test_a_policy_gets_each_message_once() -> None:
    got: list[dict[str, Any]] = []

    async def act(new_messages: list[dict[str, Any]]) -> AssistantTurn:
        got.extend(new_messages)
        return AssistantTurn(f"{CITY}\n{DETAIL}" if len(got) < 4 else "fine")

    trajectory = run(act)
    assert got == [m for m in trajectory.messages if m["role"] != "assistant"]


@pytest.mark.parametrize("error", [RuntimeError("engine died"), TimeoutError("read timed out"), ValueError("")])
def test_a_failing_policy_is_infrastructure(error: Exception) -> None:
    async def act(new_messages: list[dict[str, Any]]) -> AssistantTurn:
        raise error

    trajectory = run(act)
    assert trajectory.stop is StopReason.INFRASTRUCTURE
    assert trajectory.error == f"{type(error).__name__}: {error}"


def test_a_script_that_runs_out_is_infrastructure() -> None:
    trajectory = asyncio.run(drive(ScriptPolicy([CITY]), toy_session()))
    assert trajectory.stop is StopReason.INFRASTRUCTURE
    assert len(trajectory.calls) == 1


def test_a_broken_world_is_infrastructure() -> None:
    session = toy_session(ToyWorld(broken=ConnectionError("gone")))
    trajectory = asyncio.run(drive(ScriptPolicy([CITY, "fine"]), session))
    assert (trajectory.stop, trajectory.error) == (StopReason.INFRASTRUCTURE, "ConnectionError: gone")


def test_a_waiting_policy_is_stopped_in_the_middle_of_a_turn() -> None:
    async def act(new_messages: list[dict[str, Any]]) -> AssistantTurn:
        await asyncio.sleep(30)
        return AssistantTurn("late")

    started = time.monotonic()
    trajectory = run(act, max_seconds=0.05)
    assert time.monotonic() - started < 5
    assert (trajectory.stop, trajectory.answer, trajectory.error) == (StopReason.MAX_SECONDS, "", None)


def test_a_policy_that_never_waits_is_stopped_between_turns() -> None:
    async def act(new_messages: list[dict[str, Any]]) -> AssistantTurn:
        time.sleep(0.03)
        return AssistantTurn(CITY)

    trajectory = run(act, max_seconds=0.05, max_turns=1000, max_calls=1000, max_tokens=10**6)
    assert trajectory.stop is StopReason.MAX_SECONDS
    assert len(trajectory.calls) < 10


def test_no_limit_of_time() -> None:
    async def act(new_messages: list[dict[str, Any]]) -> AssistantTurn:
        return AssistantTurn("fine")

    assert run(act, max_seconds=None).stop is StopReason.ANSWER


def test_cancellation_passes_through() -> None:
    async def act(new_messages: list[dict[str, Any]]) -> AssistantTurn:
        await asyncio.sleep(30)
        return AssistantTurn("late")

    async def cancelled() -> bool:
        task = asyncio.ensure_future(drive(FunctionPolicy(act), toy_session()))
        await asyncio.sleep(0.01)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            return True
        return False

    assert asyncio.run(cancelled())


def test_many_episodes_share_a_loop() -> None:
    async def many() -> list[Trajectory]:
        return await asyncio.gather(*(drive(ScriptPolicy([CITY, f"fine {i}"]), toy_session()) for i in range(20)))

    assert [t.answer for t in asyncio.run(many())] == [f"fine {i}" for i in range(20)]
