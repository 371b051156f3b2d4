"""A deadline for plain Python code in any thread: code that overruns it is interrupted by `Overdue`.

    within(1.0, work)

One watching thread serves the process; it looks every `TICK` seconds and ends when there was nothing to watch for a
while. Code inside a single long operation of C is interrupted only after that operation: see `bounds`. `Overdue` is no
`Exception`, so that work which swallows its own errors ends too; work that swallows even that is interrupted again at
every tick.
"""
from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")
TICK = 0.05
IDLE = 5.0
"""Seconds without a deadline after which the watching thread ends."""


class Overdue(BaseException):
    """The work inside a deadline took too long."""


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """Return what some work returns; raise `Overdue` where it takes longer than so many seconds.

    A function and no context manager: an interruption may arrive just when the deadline is being ended, even before the
    first line of whatever ends it. Here it is ended once more then, so that none stays behind.
    """
    key = _WATCH.arm(seconds)
    try:
        try:
            return work()
        finally:
            _WATCH.disarm(key)
    except Overdue:
        _WATCH.disarm(key)
        raise


class _Watch:
    """The deadlines that run now, and the thread that looks at them."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything: what a forked process does, since threads stay behind."""
        self._lock = threading.Lock()
        self._running: dict[int, tuple[float, int]] = {}
        self._late: set[int] = set()
        self._count = 0
        self._thread: threading.Thread | None = None

    def arm(self, seconds: float) -> int:
        """Start a deadline of the calling thread; return its key."""
        with self._lock:
            self._count += 1
            self._running[self._count] = (time.monotonic() + seconds, threading.get_ident())
            if self._thread is None:
                self._thread = threading.Thread(target=self._look, name="deadlines", daemon=True)
                self._thread.start()
            return self._count

    def disarm(self, key: int) -> None:
        """End a deadline; an interruption that was sent but has not arrived is taken back."""
        with self._lock:
            self._running.pop(key, None)
            if key in self._late:
                self._late.discard(key)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)

    def _look(self) -> None:
        idle_since = time.monotonic()
        while True:
            time.sleep(TICK)
            now = time.monotonic()
            with self._lock:
                for key, (due, thread) in self._running.items():
                    if now >= due:
                        self._late.add(key)
                        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(Overdue))
                if self._running:
                    idle_since = now
                elif now - idle_since > IDLE:
                    self._thread = None
                    return


_WATCH = _Watch()
os.register_at_fork(after_in_child=_WATCH.reset)
