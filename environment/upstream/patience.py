"""How a paid service is asked: so often a second, so often again after a failure, so many requests in all.

    wait before try n+1 = max(what the service asked for, U(1/2, 1) * min(longest, first * 2^n))

The random factor keeps many workers from coming back at once. A service that asks for more than `longest_wait_s` is not
waited for.
"""
from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from environment.core.errors import ConfigError
from environment.core.upstream import UpstreamStop
from environment.upstream.http import Transient

T = TypeVar("T")


@dataclass(frozen=True)
class Patience:
    """How often and how long a failing request is tried."""

    tries: int = 4
    """1 asks once."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0

    def __post_init__(self) -> None:
        if self.tries < 1:
            raise ConfigError("out of range", where="Patience.tries", got=self.tries, expected="1 or more")

    def wait_s(self, tried: int, asked: float | None, chance: random.Random) -> float | None:
        """Return the seconds to wait after so many tries; None where there is no further one."""
        if tried >= self.tries or (asked or 0.0) > self.longest_wait_s:
            return None
        backoff = min(self.longest_wait_s, self.first_wait_s * 2 ** (tried - 1))
        return max(asked or 0.0, backoff * chance.uniform(0.5, 1.0))


class Pace:
    """Lets requests start at an even pace, all threads together."""

    def __init__(self, per_second: float) -> None:
        """Begin; `per_second` may be below 1, and 0 means no limit."""
        self._gap = 1.0 / per_second if per_second > 0 else 0.0
        self._next = 0.0
        self._lock = threading.Lock()

    def turn(self) -> float:
        """Take the next place in the row; return the seconds to wait for it."""
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next)
            self._next = start + self._gap
        return start - now

    def hold(self, seconds: float) -> None:
        """Start nothing for so long: the service asked to be left alone."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)


class Budget:
    """Counts requests and stops at a limit."""

    def __init__(self, limit: int | None = None, spent: int = 0, note: Callable[[], None] = lambda: None) -> None:
        """Begin.

        Args:
            limit: requests in all; None lets everything pass.
            spent: requests that were sent before.
            note: called before each further one, to write it down.
        """
        self.limit, self.spent, self._note = limit, spent, note
        self._lock = threading.Lock()

    @property
    def left(self) -> int | None:
        """Requests that may still be sent; None without a limit."""
        return None if self.limit is None else max(0, self.limit - self.spent)

    def take(self) -> None:
        """Count one request before it is sent; UpstreamStop where the limit is reached."""
        with self._lock:
            if self.limit is not None and self.spent >= self.limit:
                raise UpstreamStop(f"the budget of {self.limit} requests is spent", fix="raise --max-requests")
            self._note()
            self.spent += 1


def patiently(
    ask: Callable[[], T], patience: Patience, pace: Pace, chance: random.Random, halt: threading.Event
) -> T:
    """Return what `ask` returns, asking again after a Transient; the last one is raised.

    Setting `halt` ends every wait at once with an UpstreamStop.
    """
    tried = 0
    while True:
        _sleep(pace.turn(), halt)
        tried += 1
        try:
            return ask()
        except Transient as failure:
            wait = patience.wait_s(tried, failure.retry_after, chance)
            if wait is None:
                raise
            if failure.retry_after:
                pace.hold(failure.retry_after)
        _sleep(wait, halt)


def _sleep(seconds: float, halt: threading.Event) -> None:
    if halt.wait(seconds) if seconds > 0 else halt.is_set():
        raise UpstreamStop("stopped on request")
