"""The HTTP face of a `SessionPool`: FastAPI for the routes and their documentation, orjson for the bodies.

    POST   /v1/sessions              begin an episode            201
    POST   /v1/sessions/{id}/step    one assistant turn
    POST   /v1/steps                 turns of many episodes, each with its own outcome
    DELETE /v1/sessions/{id}         end it, get the trajectory
    POST   /v1/call                  one call, outside any episode
    GET    /v1/world                 which world this is
    POST   /get_observation          the shape of verl-tool's tool servers
    GET    /health, /metrics

Errors are `{"error": {what, where, got, expected, nearest, fix}}` with a fitting status. Work is done on the event
loop, for an answer takes microseconds; where the world waits for an upstream, in threads. `Front` stands before all.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec

from fastapi import FastAPI, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError

from environment.cache.layout import encode
from environment.core.errors import ToolRlError
from environment.server.answers import Answers, error_parts, error_status
from environment.server.front import RETRY_AFTER, Front
from environment.server.metrics import Metrics
from environment.server.pool import SessionPool
from environment.server.wire import BatchRequest, CallRequest, ObservationRequest, OpenRequest, StepRequest

P = ParamSpec("P")


def build_app(pool: SessionPool, token: str | None = None) -> Front:
    """Return the application: FastAPI, as its `app`, behind `Front`.

    Args:
        token: what `Authorization: Bearer …` must carry; None asks for nothing.
    """
    app = FastAPI(title="tool-rl world", description="Tool calls answered by a recorded world.", version="1")
    metrics, answers = Metrics(), Answers(pool)
    _sessions(app, answers)
    _calls(app, answers)
    _state(app, pool, metrics)
    _errors(app)
    return Front(app, answers, metrics, token)


def _sessions(app: FastAPI, answers: Answers) -> None:
    @app.post("/v1/sessions", status_code=201)
    async def open_session(request: OpenRequest) -> Response:
        """Begin an episode of a task."""
        return _json(answers.open(request), 201)

    @app.post("/v1/sessions/{session}/step")
    async def step(session: str, request: StepRequest) -> Response:
        """Hand over an assistant turn; repeating the last number repeats its reply."""
        return _json(await _worked_out(answers, answers.step, session, request))

    @app.post("/v1/steps")
    async def steps(request: BatchRequest) -> Response:
        """Hand over turns of many sessions. One that fails is an `error` in its place; the others go through."""
        return _json(await _worked_out(answers, answers.steps, request))

    @app.delete("/v1/sessions/{session}")
    async def close(session: str) -> Response:
        """End an episode and return its trajectory."""
        return _json(await _worked_out(answers, answers.close, session))


def _calls(app: FastAPI, answers: Answers) -> None:
    @app.post("/v1/call")
    async def call(request: CallRequest) -> Response:
        """Answer one call."""
        return _json(await _worked_out(answers, answers.call, request))

    @app.get("/v1/world")
    async def world() -> Response:
        """Say which world this is."""
        return _json(answers.world())

    @app.post("/get_observation")
    async def observations(request: ObservationRequest) -> Response:
        """Answer as verl-tool's tool servers do; trajectory ids are session ids, actions are turns."""
        return _json(await _worked_out(answers, answers.observations, request))


def _state(app: FastAPI, pool: SessionPool, metrics: Metrics) -> None:
    @app.get("/health")
    async def health() -> Response:
        """Tell whether new sessions are taken."""
        body = {"status": "draining" if pool.draining else "ok", "sessions": pool.open_count, "capacity": pool.capacity}
        return _json(encode(body), 503 if pool.draining else 200)

    @app.get("/metrics")
    async def numbers() -> Response:
        """Counters for Prometheus."""
        return Response(metrics.text(pool), media_type="text/plain; version=0.0.4")


def _errors(app: FastAPI) -> None:
    @app.exception_handler(ToolRlError)
    async def refused(_request: Request, error: ToolRlError) -> Response:
        return _error(error_parts(error), error_status(error))

    @app.exception_handler(RequestValidationError)
    async def unreadable(_request: Request, error: RequestValidationError) -> Response:
        return _error({"what": "the request does not fit", "problems": _problems(error)}, 422)

    async def no_such_thing(_request: Request, error: Exception) -> Response:
        parts = {"what": str(getattr(error, "detail", error)), "fix": "/docs lists the routes and their bodies"}
        return _error(parts, int(getattr(error, "status_code", 500)))

    for status in (400, 404, 405):  # a body that can't be parsed at all, no such route, another method
        app.add_exception_handler(status, no_such_thing)


async def _worked_out(answers: Answers, work: Callable[P, bytes], *args: P.args, **kwargs: P.kwargs) -> bytes:
    """Return what `work` says; from a thread where the world waits for others."""
    return await run_in_threadpool(work, *args, **kwargs) if answers.pool.waits else work(*args, **kwargs)


def _json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


def _error(parts: dict[str, Any], status: int) -> Response:
    response = _json(encode({"error": parts}), status)
    if status in (429, 503):
        response.headers[RETRY_AFTER[0].decode()] = RETRY_AFTER[1].decode()
    return response


def _problems(error: RequestValidationError) -> list[dict[str, str]]:
    """Say what does not fit and where, without echoing the body."""
    return [{"at": ".".join(map(str, p["loc"])), "what": str(p["msg"])} for p in error.errors()]
