"""`SessionPool`: the open sessions of a server. No HTTP in here.

    open(task) ─► id ─► step(id, 0, …) ─► step(id, 1, …) ─► close(id) ─► trajectory

Steps are numbered: a step that was applied before gets its reply again, so a client may repeat a request whose answer
was lost. A closed session's trajectory can be had again for a while. Sessions that nobody touches are ended and
forgotten after `ttl_s`.
"""
from __future__ import annotations

import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from environment.cache.layout import encode
from environment.core.calls import ResultStatus
from environment.core.dispatch import World, waits
from environment.core.errors import ConfigError, ToolRlError, nearest_name
from environment.core.per_object import PerObject
from environment.core.recent import Recent
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import StopReason
from environment.server.wire import OpenRequest, StepRequest
from environment.session.calling import offered_tools
from environment.session.limits import Limits
from environment.session.observation import TokenCounter
from environment.session.remembered import REMEMBERED, RememberedCut
from environment.session.session import Session
from environment.session.turns import AssistantTurn, Parser

Json = dict[str, Any]
CLOSED_BYTES = 32 << 20
"""Bytes of trajectories kept for clients that did not get the answer to closing."""
_MOST_CUTS = 2
"""Kinds of observation limits whose cuts are remembered."""
_EVENTS = {status.value: f"call_{status}" for status in ResultStatus}


class PoolError(ToolRlError):
    """A request that can't be served; `http_status` says of which kind."""

    http_status = 400


class UnknownSession(PoolError):
    """No such session: never opened, or expired."""

    http_status = 404


class OutOfStep(PoolError):
    """The number of a step is neither the next nor the last."""

    http_status = 409


class Full(PoolError):
    """No room for another session; try again later."""

    http_status = 429


class Draining(PoolError):
    """The server ends and takes no new sessions."""

    http_status = 503


@dataclass
class _Open:
    session: Session
    limits: Limits
    touched: float
    began: float
    steps: int = 0
    text: str = ""
    """Of the last step."""
    reply: Json = field(default_factory=dict[str, Any])
    """To the last step."""
    lock: threading.Lock = field(default_factory=threading.Lock)
    """Held while a step is taken."""


class SessionPool:
    """Sessions of one world, by id.

    For many threads: one lock over what all sessions share, held for an instant, and one a session for as long as the
    world takes to answer a step of it.
    """

    def __init__(
        self,
        world: World,
        parser: Parser,
        *,
        capacity: int = 1024,
        ttl_s: float = 900.0,
        limits: Limits | None = None,
        count: TokenCounter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin with no session.

        Args:
            parser: reads the calls out of a turn.
            capacity: sessions at once.
            ttl_s: seconds without a request after which a session is dropped.
            limits: of every session, where its request names no other.
            count: tokens of a text, for cutting observations.
        """
        if capacity < 1 or ttl_s <= 0:
            raise ConfigError("server limits", got=(capacity, ttl_s), expected="capacity of 1 or more, ttl_s above 0")
        self.world, self.capacity, self.ttl_s = world, capacity, ttl_s
        self._parser = parser
        self.draining = False
        self.events: Counter[str] = Counter()
        """opened, closed, expired, refused, steps, repeated, and `call_<status>` for every call answered."""
        self._limits, self._count, self._clock = limits or Limits(), count, clock
        self._sessions: OrderedDict[str, _Open] = OrderedDict()
        """The one touched longest ago first."""
        self._closed = Recent[str, tuple[float, bytes]](CLOSED_BYTES)
        """When a session was closed, and its trajectory."""
        self._lock = threading.RLock()
        self._functions = PerObject[ToolSchema, Json](ToolSchema.as_openai)
        self._cuts: dict[tuple[int | None, int | None], RememberedCut] = {}

    @property
    def waits(self) -> bool:
        """Whether the world waits for something outside this process."""
        return waits(self.world)

    @property
    def open_count(self) -> int:
        """Sessions that are open."""
        return len(self._sessions)

    def open(self, request: OpenRequest) -> Json:
        """Begin a session; return its id, the opening messages and the tools on offer."""
        with self._lock:
            self.reap()
            return self._open(request)

    def _open(self, request: OpenRequest) -> Json:
        if self.draining:
            raise Draining("the server is about to end", fix="open the session on another server")
        if self.open_count >= self.capacity:
            self.events["refused"] += 1
            raise Full("no room for another session", got=self.open_count, expected=f"fewer than {self.capacity}")
        task, limits = _task(request.task), self._limits_of(request.limits)
        session = Session(
            task, self.world, self.world.schemas, limits, self._parser, request.seed,
            count=self._count, instructions=request.instructions, cut=self._cut(limits),
        )  # fmt: skip
        name, now = secrets.token_hex(12), self._clock()
        self._sessions[name] = _Open(session, limits, touched=now, began=now)
        self.events["opened"] += 1
        tools = [self._functions(schema) for schema in offered_tools(task, self.world.schemas).values()]
        return {"session": name, "messages": session.opening(), "tools": tools, "expires_in_s": self.ttl_s}

    def step(self, name: str, request: StepRequest) -> Json:
        """Take an assistant turn; return the tool messages and whether the episode has ended."""
        found = self._touch(name)
        with found.lock:
            return self._step(name, found, request)

    def _step(self, name: str, found: _Open, request: StepRequest) -> Json:
        if found.steps and request.number == found.steps - 1:
            if request.text != found.text:
                raise OutOfStep("another turn was taken", where=f"session {name}", got=f"step {request.number} again")
            self._count_events(["repeated"])
            return found.reply
        if request.number != found.steps:
            expected = f"{found.steps}" + (f", or {found.steps - 1} again" if found.steps else "")
            raise OutOfStep("a step out of order", where=f"session {name}", got=request.number, expected=expected)
        self._pass_deadline(found)
        session = found.session
        if session.done:
            raise OutOfStep("the episode has ended", where=f"session {name}", got=str(session.stop), fix="close it")
        before = session.call_count
        messages = session.step(AssistantTurn(request.text, request.tokens, request.truncated))
        found.steps, found.text = found.steps + 1, request.text
        statuses = [result.status.value for result in session.results_from(before)]
        self._count_events(["steps", *(_EVENTS[status] for status in statuses)])
        found.reply = {
            "number": request.number, "messages": messages, "statuses": statuses, "done": session.done,
            "stop": None if session.stop is None else str(session.stop),
        }  # fmt: skip
        return found.reply

    def steps_of(self, name: str) -> int:
        """Return how many steps a session has taken."""
        return self._touch(name).steps

    def close(self, name: str) -> bytes:
        """End a session, finished or not, and return its trajectory as JSON text.

        The same again for a session that was closed, until it expires or `CLOSED_BYTES` of others were closed after it.
        """
        kept, now = self._closed.get(name), self._clock()
        if kept is not None and kept[0] > now - self.ttl_s:
            return kept[1]
        found = self._touch(name)
        with found.lock:  # a step under way is part of the trajectory
            if not found.session.done:
                found.session.abort(StopReason.INFRASTRUCTURE, "the session was closed before its end")
            text = encode(found.session.trajectory(meta={"seconds": round(now - found.began, 3)}).to_json())
        with self._lock:
            self._closed.put(name, (now, text), len(text))
            if self._sessions.pop(name, None) is not None:
                self.events["closed"] += 1
        return text

    def reap(self) -> int:
        """Drop the sessions that nobody has touched for `ttl_s`; return how many."""
        limit, dropped = self._clock() - self.ttl_s, 0
        with self._lock:
            while self._sessions:
                name, found = next(iter(self._sessions.items()))
                if found.touched > limit:
                    break
                del self._sessions[name]
                dropped += 1
            if dropped:
                self.events["expired"] += dropped
        return dropped

    def _count_events(self, names: Sequence[str]) -> None:
        with self._lock:
            for name in names:
                self.events[name] += 1

    def _touch(self, name: str) -> _Open:
        with self._lock:
            self.reap()
            found = self._sessions.get(name)
            if found is None:
                fix = "open one; it may have expired or been closed"
                raise UnknownSession("no such session", got=name[:60], fix=fix)
            found.touched = self._clock()
            self._sessions.move_to_end(name)
            return found

    def _pass_deadline(self, found: _Open) -> None:
        seconds = found.limits.max_seconds
        if seconds is not None and self._clock() - found.began > seconds:
            found.session.abort(StopReason.MAX_SECONDS)

    def _cut(self, limits: Limits) -> RememberedCut | None:
        """Return the cut that sessions under the same limits share; None where too many kinds of limits are in use."""
        kind = (limits.observation_tokens, limits.observation_chars)
        if kind not in self._cuts and len(self._cuts) < _MOST_CUTS:
            self._cuts[kind] = RememberedCut(limits.cut(self._count), REMEMBERED // _MOST_CUTS)
        return self._cuts.get(kind)

    def _limits_of(self, wanted: Mapping[str, Any]) -> Limits:
        known = [f.name for f in fields(Limits)]
        for key, value in wanted.items():
            if key not in known:
                near = nearest_name(key, known)
                raise PoolError("unknown limit", where="limits", got=key, nearest=near)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise PoolError("a limit is a number", where=f"limits.{key}", got=value)
        try:
            return replace(self._limits, **wanted)
        except ConfigError as error:
            raise PoolError(error.what, where=error.where, got=error.got, expected=error.expected) from error


def _task(row: Mapping[str, Any]) -> Task:
    try:
        return Task.from_json(row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"not a task: {type(error).__name__}: {error}"
        raise PoolError(what, where="task", expected="id, query, tools, steps") from error
