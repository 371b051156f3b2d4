"""`Answers`: what every route says, as JSON text. No HTTP in here, so that two front doors can't differ."""
from __future__ import annotations

from typing import Any

from environment.cache.layout import encode
from environment.cache.store import CachedWorld
from environment.core.errors import ToolRlError
from environment.server.pool import PoolError, SessionPool
from environment.server.wire import BatchRequest, CallRequest, ObservationRequest, OpenRequest, StepRequest


class Answers:
    """The routes of one pool. A request that can't be served raises a PoolError."""

    def __init__(self, pool: SessionPool) -> None:
        self.pool = pool

    def open(self, request: OpenRequest) -> bytes:
        """Begin an episode of a task."""
        return encode(self.pool.open(request))

    def step(self, session: str, request: StepRequest) -> bytes:
        """Take one assistant turn."""
        return encode(self.pool.step(session, request))

    def steps(self, request: BatchRequest) -> bytes:
        """Take turns of many sessions; one that fails is an `error` in its place."""
        return encode({"replies": [self._one(step) for step in request.steps]})

    def close(self, session: str) -> bytes:
        """End an episode; its trajectory."""
        return self.pool.close(session)

    def call(self, request: CallRequest) -> bytes:
        """Answer one call. A recorded value is passed on as the text it was recorded as."""
        world = self.pool.world
        if isinstance(world, CachedWorld):
            known = world.call_text(request.name, request.arguments)
            return b'{"status":"%b","value":%b}' % (known.status.encode(), known.text)
        found = world.call(request.name, request.arguments)
        return encode({"status": str(found.status), "value": found.value})

    def world(self) -> bytes:
        """Say which world this is: its tools, and the hash of its content where it is a recorded one."""
        world = self.pool.world
        recorded = world if isinstance(world, CachedWorld) else None
        facts = {"tools": sorted(world.schemas), "content_hash": recorded and recorded.content_hash}
        return encode({**facts, "entries": recorded and recorded.entry_count})

    def observations(self, request: ObservationRequest) -> bytes:
        """Answer as verl-tool's tool servers do; trajectory ids are session ids, actions are turns."""
        ids, actions = request.trajectory_ids, request.actions
        if len(ids) != len(actions):
            raise PoolError("one action a trajectory", got=f"{len(actions)} actions", expected=str(len(ids)))
        replies = [self._observation(*pair) for pair in zip(ids, actions, strict=True)]
        texts, dones, valids = zip(*replies, strict=True) if replies else ((), (), ())
        return encode({"observations": texts, "dones": dones, "valids": valids})

    def _one(self, step: Any) -> dict[str, Any]:
        try:
            return self.pool.step(step.session, step)
        except PoolError as error:
            return {"error": error_parts(error), "status": error.http_status}

    def _observation(self, session: str, action: str) -> tuple[str, bool, bool]:
        """Return (observation, done, valid); an unknown id ends its trajectory and no other."""
        try:
            reply = self.pool.step(session, StepRequest(number=self.pool.steps_of(session), text=action))
        except PoolError as error:
            return str(error), True, False
        text = "\n".join(str(message["content"]) for message in reply["messages"])
        return text, bool(reply["done"]), all(status == "ok" for status in reply["statuses"])


def error_parts(error: ToolRlError) -> dict[str, Any]:
    """Return an error as a JSON object: what, where, got, expected, nearest, fix, as far as they are known."""
    parts = {name: getattr(error, name) for name in ("what", "where", "got", "expected", "nearest", "fix")}
    plain = {name: value if isinstance(value, int | float) else str(value) for name, value in parts.items()}
    return {name: value for name, value in plain.items() if parts[name] is not None}


def error_status(error: ToolRlError) -> int:
    """Return the HTTP status of an error: a request's own, or 500 for the world's."""
    return error.http_status if isinstance(error, PoolError) else 500
