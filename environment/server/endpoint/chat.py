"""`Endpoint`: one OpenAI-compatible chat endpoint, with retries for failures that may pass."""
from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp

from environment.core.net import is_loopback, seconds_asked
from environment.server.endpoint.failures import EndpointError, Exhausted, Fatal, Passing, classify

SECRET_CHARS = 8
"""A shorter key, such as EMPTY, is no secret but a placeholder."""


@dataclass(frozen=True)
class Retry:
    """When to try again. Waits double from `base` up to `most` seconds, each shortened at random by up to a half."""

    tries: int = 6
    """Tries in all; 1 means no retry."""
    base: float = 0.5
    most: float = 20.0
    timeout: float = 600.0
    """Seconds for one try; a CPU under load is slow, not dead."""

    def wait(self, attempt: int, asked: float | None, chance: float) -> float:
        """Return the seconds to wait after try `attempt` (from 0); what the endpoint asked for goes first."""
        planned = min(self.most, self.base * 2**attempt) * (1 - chance / 2)
        return planned if asked is None else min(max(asked, planned), 2 * self.most)


@dataclass
class Endpoint:
    """`async with Endpoint(url, model) as endpoint: await endpoint.chat(body)`."""

    base_url: str
    """Ends in `/v1`."""
    model: str
    api_key: str | None = field(default=None, repr=False)
    retry: Retry = Retry()
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    connections: int = 64
    fatal: Fatal | None = None
    """Set once the endpoint failed in a way no retry can mend; every later call raises it at once."""
    retries: int = 0
    """Tries repeated so far."""
    failures: Counter[str] = field(default_factory=Counter[str])
    """What failed tries met (`HTTP 429`, no message in the answer, …) → how often."""
    _http: aiohttp.ClientSession | None = field(default=None, repr=False)
    _random: random.Random = field(default_factory=lambda: random.Random(0), repr=False)

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        self._http = aiohttp.ClientSession(
            headers=headers,
            connector=aiohttp.TCPConnector(limit=self.connections),
            timeout=aiohttp.ClientTimeout(total=self.retry.timeout),
            trust_env=not is_loopback(urlsplit(self.base_url).hostname or ""),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the reply to one chat completion request: an object whose `choices` has at least one message.

        Raises Fatal, TooLong or Exhausted.
        """
        last: EndpointError | None = None
        for attempt in range(self.retry.tries):
            if self.fatal is not None:
                raise self.fatal
            try:
                return await self._once({"model": self.model, **body})
            except Passing as passing:
                last = passing
                self.retries += 1
                self.failures[passing.what] += 1
                if attempt + 1 < self.retry.tries:
                    await self.sleep(self.retry.wait(attempt, passing.after, self._random.random()))
            except Fatal as fatal:
                self.fatal = fatal
                raise
        raise Exhausted(f"gave up after {self.retry.tries} tries: {last}", where=self.base_url)

    async def _once(self, body: dict[str, Any]) -> dict[str, Any]:
        if self._http is None:
            raise RuntimeError("Endpoint is used outside `async with`")
        try:
            async with self._http.post(f"{self.base_url.rstrip('/')}/chat/completions", json=body) as answer:
                text = await answer.text()
                if answer.status != 200:
                    after = seconds_asked(answer.headers.get("Retry-After"))
                    raise classify(answer.status, self._without_key(text), self.base_url, after)
        except (aiohttp.ClientError, TimeoutError, OSError, UnicodeDecodeError) as error:
            raise Passing(f"no answer: {type(error).__name__}", where=self.base_url, got=str(error)) from error
        try:
            return _reply(text)
        except (ValueError, KeyError, IndexError, TypeError, RecursionError) as error:
            got = self._without_key(text)[:300]
            raise Passing("the answer holds no message", where=self.base_url, got=got) from error

    def _without_key(self, text: str) -> str:
        """Return what an endpoint said of a failure, without our key: some repeat it, and messages are kept."""
        telling = self.api_key is not None and len(self.api_key) >= SECRET_CHARS
        return text.replace(self.api_key or "", "[key]") if telling else text


def _reply(text: str) -> dict[str, Any]:
    """Return a reply whose first choice has a message; any of a reader's errors where it isn't one."""
    reply: Any = json.loads(text)
    if not isinstance(reply["choices"][0]["message"], dict):
        raise TypeError("the message is no object")
    return reply
