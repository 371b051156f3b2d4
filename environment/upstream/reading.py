"""What a reply of a live service means: an answer, an answer that says no, or nothing that may be kept.

    200, the tool's shape                       ok, kept
    200 with `status: false` or an `error`      upstream_error, kept: asked again, the service says the same
    400, 409, 410, 422 with a JSON object       upstream_error, kept
    an error in passing words; 408, 425, 429, 5xx; a web page; broken JSON    Transient: asked again, kept nowhere
    another shape, 404, a redirect              UpstreamFailure: kept nowhere
    401, 403, a 429 that speaks of a quota      UpstreamStop
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any, NoReturn, cast

from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.dispatch import failure
from environment.core.net import seconds_asked
from environment.core.shapes import Shapes
from environment.core.upstream import UpstreamFailure, UpstreamStop
from environment.upstream.endpoints import Service
from environment.upstream.http import Reply, Transient

_REFUSALS = (400, 409, 410, 422)
_PASSING = (408, 425, 429, 500, 502, 503, 504)


def read_reply(tool: str, reply: Reply, service: Service, shapes: Shapes) -> WorldAnswer:
    """Return the answer of a reply; see the table above for what is raised."""
    if reply.status in (401, 403):
        raise UpstreamStop(
            f"{service.service} refuses the key (HTTP {reply.status})",
            fix=f"check the key in {service.key_variable} and its subscription",
        )
    if reply.status in _PASSING:
        _passing(reply, service)
    if reply.status != 200 and reply.status not in _REFUSALS:
        raise UpstreamFailure(f"{service.service} answers {tool} with HTTP {reply.status}")
    value = _json(reply, service)
    if reply.status in _REFUSALS:
        return _refusal(value, service, reply.status)
    return _judged(tool, value, service, shapes)


def _passing(reply: Reply, service: Service) -> NoReturn:
    if reply.status == 429 and b"quota" in reply.body[:2000].lower():
        fix = "wait until it is renewed, or take a larger plan; the same command goes on from here"
        raise UpstreamStop(f"the quota of {service.service} is used up (HTTP 429)", fix=fix)
    problem = Transient(f"{service.service} answers HTTP {reply.status}")
    problem.retry_after = seconds_asked(reply.headers.get("retry-after"))
    raise problem


def _json(reply: Reply, service: Service) -> JsonValue:
    kind = reply.headers.get("content-type", "")
    if "html" in kind.lower() or reply.body.lstrip()[:1] == b"<":
        raise Transient(f"{service.service} sends a web page instead of JSON (HTTP {reply.status})")
    try:
        value: JsonValue = json.loads(reply.body, parse_constant=_no_number, parse_float=_finite)
    except (ValueError, RecursionError):
        raise Transient(f"{service.service} sends no JSON (HTTP {reply.status})") from None
    if isinstance(value, dict):
        return {k: v for k, v in cast("dict[str, Any]", value).items() if k not in service.volatile}
    return value


def _judged(tool: str, value: JsonValue, service: Service, shapes: Shapes) -> WorldAnswer:
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        if known.get("status") is False or known.get("error"):
            return _refusal(known, service, 200)
    problem = shapes.problem(tool, value)
    if problem is not None:
        raise UpstreamFailure(f"{service.service} sends no answer of {tool}: {problem}")
    return WorldAnswer(ResultStatus.OK, value)


def _refusal(value: JsonValue, service: Service, status: int) -> WorldAnswer:
    """Return the service's own no; Transient where its words are those of a service in trouble."""
    if not isinstance(value, dict):
        raise UpstreamFailure(f"{service.service} answers HTTP {status} without a reason")
    known = cast("Mapping[str, Any]", value)
    text = _said(known.get("error") or known.get("message") or "no reason given")
    if any(words in text.lower() for words in service.passing_messages):
        raise Transient(f"{service.service} is in trouble: {text[:100]}")
    return failure(ResultStatus.UPSTREAM_ERROR, text[:500])


def _said(reason: Any) -> str:
    return reason if isinstance(reason, str) else json.dumps(reason, ensure_ascii=False)


def _finite(text: str) -> float:
    number = float(text)
    return number if isfinite(number) else _no_number(text)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON")
