"""Failures of an endpoint: some pass, some don't, none of them is the model's.

    Fatal      the run can't succeed as set up (key, model name, request shape): stop at once
    Exhausted  a passing failure that outlasted its retries: this episode is void, to be run again
    TooLong    the conversation no longer fits the model's context: the episode is over by its token limit
"""
from __future__ import annotations

from environment.core.errors import ToolRlError

RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""HTTP answers worth another try."""
_TOO_LONG = ("maximum context length", "context_length_exceeded", "maximum model length", "too many tokens")


class EndpointError(ToolRlError):
    """Base of what an endpoint can do wrong."""


class Fatal(EndpointError):
    """No retry and no other episode can succeed."""


class Exhausted(EndpointError):
    """Retries are used up."""


class TooLong(EndpointError):
    """The prompt exceeds the model's context."""


class Passing(EndpointError):
    """One try failed in a way that may pass; `after` is the wait the endpoint asked for, in seconds."""

    def __init__(self, what: str, *, where: str | None = None, got: object = None, after: float | None = None) -> None:
        super().__init__(what, where=where, got=got)
        self.after = after


def classify(status: int, body: str, where: str, after: float | None = None) -> EndpointError:
    """Return the error that an HTTP answer other than 200 stands for."""
    if status in RETRYABLE_STATUS or status >= 500:
        return Passing(f"HTTP {status}", where=where, got=body[:300], after=after)
    if status in (400, 413, 422) and any(mark in body.lower() for mark in _TOO_LONG):
        return TooLong("the conversation exceeds the model's context", where=where, got=body[:300])
    return Fatal(f"HTTP {status}", where=where, got=body[:300], fix=_fix(status))


def _fix(status: int) -> str:
    if status in (401, 403):
        return "give a valid key in the environment variable the settings name"
    if status == 404:
        return "check the base URL (it ends in /v1) and the model name"
    return "the endpoint refuses this request: compare its tools support and parameters"
