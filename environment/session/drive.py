"""`drive`: run an episode to its end with a policy. Failures are stored in the trajectory, never raised."""
from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence
from typing import Protocol

from environment.core.trajectory import StopReason, Trajectory
from environment.session.prompt import Message
from environment.session.session import Session, describe
from environment.session.turns import AssistantTurn


class Policy(Protocol):
    """Whoever writes the assistant turns: a model behind an endpoint, a rollout engine, a script."""

    def act(self, new_messages: list[Message], /) -> Awaitable[AssistantTurn]:
        """Return the next turn, given the messages since the last one (the opening at first); mostly an `async def`."""
        ...


class ScriptPolicy:
    """Writes the given turns one after the other; asking for more than there are is an error."""

    def __init__(self, turns: Sequence[str]) -> None:
        self._turns = iter(turns)

    async def act(self, new_messages: list[Message]) -> AssistantTurn:
        """Return the next turn of the script."""
        text = next(self._turns, None)
        if text is None:
            raise IndexError("the script has no further turn")
        return AssistantTurn(text)


async def drive(policy: Policy, session: Session) -> Trajectory:
    """Return the trajectory of the session under the policy.

    A failing policy ends the episode as `infrastructure`; passing `limits.max_seconds` ends it as `max_seconds`, also
    in the middle of a turn. Cancellation from outside passes through.
    """
    started = time.monotonic()
    clock = asyncio.timeout(session.limits.max_seconds)
    try:
        async with clock:
            await _alternate(policy, session, clock)
    except Exception as error:  # a policy's failure is data; the one place where it becomes so
        reason = StopReason.MAX_SECONDS if clock.expired() else StopReason.INFRASTRUCTURE
        session.abort(reason, None if clock.expired() else describe(error))
    return session.trajectory(meta={"seconds": round(time.monotonic() - started, 3)})


async def _alternate(policy: Policy, session: Session, clock: asyncio.Timeout) -> None:
    """Take turns until the end. A policy that never waits can't be cancelled, so the clock is read as well."""
    messages = session.opening()
    deadline = clock.when()
    while not session.done:
        turn = await policy.act(messages)
        if deadline is not None and asyncio.get_running_loop().time() >= deadline:
            session.abort(StopReason.MAX_SECONDS)
            return
        messages = await _step(session, turn)


async def _step(session: Session, turn: AssistantTurn) -> list[Message]:
    """Take a step; in a thread where the world waits for others, so that other episodes go on meanwhile.

    A step that has begun is always waited for, also when time is up: it may not write into a session that has ended.
    The world's own deadline bounds how long that takes.
    """
    if not session.waits:
        return session.step(turn)
    stepping = asyncio.ensure_future(asyncio.to_thread(session.step, turn))
    try:
        return await asyncio.shield(stepping)
    except asyncio.CancelledError:
        await asyncio.wait([stepping])
        raise
