"""`Asker`: asks a world for the calls of an expansion, many at once, and counts what came of them."""
from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial

from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import canonical_key
from environment.core.dispatch import MISS_TEXT, World, failure
from environment.core.upstream import Upstream
from environment.expansion.files import call_mark

Arguments = dict[str, JsonValue]


class Asker:
    """Asks, and remembers which calls have no answer."""

    def __init__(
        self, world: World, upstream: Upstream, workers: int, unanswered: set[str], note: Callable[[str], None]
    ) -> None:
        """Begin.

        Args:
            world: what is recorded, with the upstream behind it.
            upstream: only looked at for whether it has stopped.
            unanswered: marks of calls known to have no answer; they are not asked again.
            note: called with the mark of each further one.
        """
        self.schemas, self.counts = world.schemas, Counter[str]()
        self._world, self._upstream = world, upstream
        self._unanswered, self._note, self._lock = unanswered, note, threading.Lock()
        self._halt = threading.Event()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="expand")

    @property
    def stopped(self) -> str | None:
        """Why nothing more is asked; None while it is."""
        return "stopped on request" if self._halt.is_set() else self._upstream.stopped

    @property
    def halted(self) -> bool:
        """Whether `halt` was called, as opposed to an upstream that has stopped by itself."""
        return self._halt.is_set()

    def halt(self) -> None:
        """Ask for nothing more; calls under way end."""
        self._halt.set()

    @contextmanager
    def working(self) -> Generator[None, None, None]:
        """End the threads afterwards; an exception first lets no further call start."""
        try:
            yield
        except BaseException:
            self.halt()
            raise
        finally:
            self._pool.shutdown(cancel_futures=True)

    def ask_all(self, tool: str, calls: Sequence[Arguments]) -> list[WorldAnswer | None]:
        """Return the answers in the order of the calls; None for one that was not asked any more."""
        return list(self._pool.map(partial(self._ask, tool), calls))

    def _ask(self, tool: str, arguments: Arguments) -> WorldAnswer | None:
        if self.stopped is not None:
            self._count(tool, "not asked")
            return None
        mark = call_mark(tool, canonical_key(self.schemas[tool], arguments))
        if mark in self._unanswered:
            answer = failure(ResultStatus.MISS, MISS_TEXT)
        else:
            answer = self._world.call(tool, arguments)
            if answer.status is ResultStatus.MISS:
                with self._lock:
                    self._unanswered.add(mark)
                self._note(mark)
        self._count(tool, answer.status.value)
        return answer

    def _count(self, tool: str, what: str) -> None:
        with self._lock:
            self.counts[f"{tool}: {what}"] += 1
