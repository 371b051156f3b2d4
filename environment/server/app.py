"""The HTTP face of a `SessionPool`: FastAPI for the routes and their documentation, orjson for the bodies.

    POST   /v1/sessions              begin an episode            201
    POST   /v1/sessions/{id}/step    one assistant turn
    POST   /v1/steps                 turns of many episodes, each with its own outcome
    DELETE /v1/sessions/{id}         end it, get the trajectory
    POST   /v1/call                  one call, outside any episode
    POST   /get_observation          the shape of verl-tool's tool servers
    GET    /health, /metrics

Errors are `{"error": {what, where, got, expected, nearest, fix}}` with a fitting status. Work is done on the event
loop: an answer takes microseconds, and one thread needs no locks.
"""
from __future__ import annotations

import hmac
import time
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError

from environment.cache.layout import encode
from environment.core.errors import ToolRlError
from environment.server.metrics import Metrics
from environment.server.pool import PoolError, SessionPool
from environment.server.wire import BatchRequest, CallRequest, ObservationRequest, OpenRequest, StepRequest

OPEN_PATHS = frozenset({"/health"})
"""Answered without a token."""
RETRY_AFTER_S = "1"
Handler = Callable[[Request], Awaitable[Response]]


def build_app(pool: SessionPool, token: str | None = None) -> FastAPI:
    """Return the application.

    Args:
        token: what `Authorization: Bearer …` must carry; None asks for nothing.
    """
    app = FastAPI(title="tool-rl world", description="Tool calls answered by a recorded world.", version="1")
    metrics = Metrics()
    _sessions(app, pool)
    _calls(app, pool)

    @app.get("/health")
    async def health() -> Response:
        """Tell whether new sessions are taken."""
        body = {"status": "draining" if pool.draining else "ok", "sessions": pool.open_count, "capacity": pool.capacity}
        return answer(body, 503 if pool.draining else 200)

    @app.get("/metrics")
    async def numbers() -> Response:
        """Counters for Prometheus."""
        return Response(metrics.text(pool), media_type="text/plain; version=0.0.4")

    @app.exception_handler(ToolRlError)
    async def refused(_request: Request, error: ToolRlError) -> Response:
        return _error(error)

    @app.exception_handler(RequestValidationError)
    async def unreadable(_request: Request, error: RequestValidationError) -> Response:
        return answer({"error": {"what": "the request does not fit", "problems": _problems(error)}}, 422)

    @app.middleware("http")
    async def guard(request: Request, go_on: Handler) -> Response:
        began = time.perf_counter()
        allowed = token is None or request.url.path in OPEN_PATHS or _has_token(request, token)
        missing = answer({"error": {"what": "no valid token", "fix": "send Authorization: Bearer TOKEN"}}, 401)
        response = await go_on(request) if allowed else missing
        route: Any = request.scope.get("route")
        metrics.answered(getattr(route, "path", "none"), response.status_code, time.perf_counter() - began)
        return response

    return app


def _sessions(app: FastAPI, pool: SessionPool) -> None:
    @app.post("/v1/sessions", status_code=201)
    async def open_session(request: OpenRequest) -> Response:
        """Begin an episode of a task."""
        return answer(pool.open(request), 201)

    @app.post("/v1/sessions/{session}/step")
    async def step(session: str, request: StepRequest) -> Response:
        """Hand over an assistant turn; repeating the last number repeats its reply."""
        return answer(pool.step(session, request))

    @app.post("/v1/steps")
    async def steps(request: BatchRequest) -> Response:
        """Hand over turns of many sessions. One that fails is an `error` in its place; the others go through."""
        return answer({"replies": [_one(pool, step.session, step) for step in request.steps]})

    @app.delete("/v1/sessions/{session}")
    async def close(session: str) -> Response:
        """End an episode and return its trajectory."""
        return answer(pool.close(session))


def _calls(app: FastAPI, pool: SessionPool) -> None:
    @app.post("/v1/call")
    async def call(request: CallRequest) -> Response:
        """Answer one call."""
        found = pool.world.call(request.name, request.arguments)
        return answer({"status": str(found.status), "value": found.value})

    @app.post("/get_observation")
    async def observations(request: ObservationRequest) -> Response:
        """Answer as verl-tool's tool servers do; trajectory ids are session ids, actions are turns."""
        ids, actions = request.trajectory_ids, request.actions
        if len(ids) != len(actions):
            raise PoolError("one action a trajectory", got=f"{len(actions)} actions", expected=str(len(ids)))
        replies = [_observation(pool, *pair) for pair in zip(ids, actions, strict=True)]
        texts, dones, valids = zip(*replies, strict=True) if replies else ((), (), ())
        return answer({"observations": texts, "dones": dones, "valids": valids})


def answer(body: Any, status: int = 200) -> Response:
    """Return a JSON response."""
    return Response(encode(body), status, media_type="application/json")


def _one(pool: SessionPool, session: str, request: StepRequest) -> dict[str, Any]:
    try:
        return pool.step(session, request)
    except PoolError as error:
        return {"error": _parts(error), "status": error.http_status}


def _observation(pool: SessionPool, session: str, action: str) -> tuple[str, bool, bool]:
    """Return (observation, done, valid); an unknown id ends its trajectory and no other."""
    try:
        reply = pool.step(session, StepRequest(number=pool.steps_of(session), text=action))
    except PoolError as error:
        return str(error), True, False
    text = "\n".join(str(message["content"]) for message in reply["messages"])
    return text, bool(reply["done"]), all(status == "ok" for status in reply["statuses"])


def _has_token(request: Request, token: str) -> bool:
    given = request.headers.get("authorization", "")
    return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())


def _error(error: ToolRlError) -> Response:
    status = error.http_status if isinstance(error, PoolError) else 500
    response = answer({"error": _parts(error)}, status)
    if status in (429, 503):
        response.headers["Retry-After"] = RETRY_AFTER_S
    return response


def _parts(error: ToolRlError) -> dict[str, Any]:
    parts = {name: getattr(error, name) for name in ("what", "where", "got", "expected", "nearest", "fix")}
    plain = {name: value if isinstance(value, int | float) else str(value) for name, value in parts.items()}
    return {name: value for name, value in plain.items() if parts[name] is not None}


def _problems(error: RequestValidationError) -> list[dict[str, str]]:
    """Say what does not fit and where, without echoing the body."""
    return [{"at": ".".join(map(str, p["loc"])), "what": str(p["msg"])} for p in error.errors()]
