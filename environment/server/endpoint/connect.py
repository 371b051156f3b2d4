"""From settings to an `Asker`: address, key from the environment, retries, caps, the file of replies."""
from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from environment.core.errors import ConfigError
from environment.server.endpoint.ask import Asker, AskSettings
from environment.server.endpoint.budget import Budget, Price
from environment.server.endpoint.chat import Endpoint, Retry
from environment.server.endpoint.replies import ReplyCache


@dataclass(frozen=True)
class EndpointSettings:
    """One model behind one address."""

    base_url: str
    """Ends in `/v1`."""
    model: str
    key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable with the key; the key itself is in no file and no message."""
    concurrency: int = 16
    """Requests under way at once."""
    timeout: float = 120.0
    """Seconds for one try."""
    tries: int = 8
    ask: AskSettings = field(default_factory=AskSettings)
    max_tokens: int | None = None
    """Cap on prompt and completion tokens of the whole job; None for no cap."""
    max_cost: float | None = None
    price: Price = field(default_factory=Price)
    cache: Path | None = None
    """File of replies; None keeps none."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                "the address of the endpoint is none",
                where="--base-url",
                got=self.base_url,
                expected="an address such as http://127.0.0.1:8000/v1",
            )
        if not self.model:
            raise ConfigError("no model is named", where="--model", fix="give the name the endpoint serves it under")
        if self.concurrency < 1:
            raise ConfigError("needs at least one request at once", where="--concurrency", got=self.concurrency)


@asynccontextmanager
async def connect(settings: EndpointSettings) -> AsyncGenerator[Asker]:
    """Give an `Asker` for as long as the block lasts."""
    budget = Budget(settings.max_tokens, settings.max_cost, settings.price)
    retry = Retry(tries=settings.tries, timeout=settings.timeout)
    cache = ReplyCache(settings.cache) if settings.cache else None
    key = os.environ.get(settings.key_env) or None
    try:
        async with Endpoint(
            settings.base_url, settings.model, key, retry, connections=settings.concurrency
        ) as endpoint:
            yield Asker(endpoint, settings.ask, budget, cache)
    finally:
        if cache is not None:
            cache.close()
