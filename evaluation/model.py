"""`ModelUnderTest`: whoever writes the assistant turns, ready to converse.

A folder is served here for as long as the run takes, an endpoint is asked where it is, and gold turns need neither.
"""
from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from environment.server.endpoint.chat import Endpoint, Retry
from environment.server.endpoint.failures import Fatal
from environment.session.turns import AssistantTurn
from evaluation.policy.chat import CountingPolicy, NativePolicy, RawPolicy, Sampling, Usage
from evaluation.serve import ModelServer
from evaluation.settings import RunSettings
from evaluation.suite import Seat, ToolFunctions


@dataclass
class ModelUnderTest:
    """The model of one run."""

    settings: RunSettings
    endpoint: Endpoint | None = None
    """None for gold turns."""
    server: ModelServer | None = None
    """None where someone else serves."""
    count: Callable[[str], int] | None = None

    @property
    def fatal(self) -> Fatal | None:
        """What no retry can mend, once it happened."""
        return self.endpoint.fatal if self.endpoint is not None else None

    @property
    def dead(self) -> bool:
        """Whether our own server has ended."""
        return self.server is not None and not self.server.alive

    def log_tail(self) -> str:
        """Return the end of our server's log, nothing where there is none."""
        return self.server.log_tail() if self.server is not None else ""

    def seat(self, item_id: str, sample: int, gold: Sequence[str] | None, usages: list[Usage]) -> Seat:
        """Return the seat of one episode; what its conversations use is gathered in `usages`."""
        sampling = self.settings.sampling(item_id, sample)

        def converse(tools: ToolFunctions) -> CountingPolicy:
            policy = self._policy(list(tools), sampling, gold)
            usages.append(policy.usage)
            return policy

        return Seat(sample, sampling, converse, self.count)

    def _policy(self, tools: ToolFunctions, sampling: Sampling, gold: Sequence[str] | None) -> CountingPolicy:
        if self.endpoint is None:
            return GoldPolicy(tools, iter(gold or ()))
        kind = RawPolicy if self.settings.mode == "raw" else NativePolicy
        return kind(self.endpoint, tools, sampling)


@dataclass
class GoldPolicy:
    """Writes the given turns one after the other, and then nothing more."""

    tools: ToolFunctions
    turns: Iterator[str]
    usage: Usage = field(default_factory=Usage)

    async def act(self, new_messages: list[dict[str, Any]]) -> AssistantTurn:
        """Return the next turn; an empty answer after the last."""
        self.usage.requests += 1
        return AssistantTurn(next(self.turns, ""))


@contextlib.asynccontextmanager
async def model_under_test(settings: RunSettings) -> AsyncIterator[ModelUnderTest]:
    """Serve or connect to the model that the settings name, for as long as the block runs."""
    count = token_counter(settings.model)
    if settings.gold:
        yield ModelUnderTest(settings, count=count)
        return
    with _server(settings) as server:
        url = settings.base_url or (server.base_url if server else "")
        key = os.environ.get(settings.api_key_env) if settings.base_url else None
        retry = Retry(tries=settings.retry_tries)
        connections = settings.concurrency
        async with Endpoint(url, settings.model_name, key, retry, connections=connections) as endpoint:
            yield ModelUnderTest(settings, endpoint, server, count)


@contextlib.contextmanager
def _server(settings: RunSettings) -> Iterator[ModelServer | None]:
    if settings.base_url is not None or settings.model is None:
        yield None
        return
    serve = replace(settings.serve, max_num_seqs=min(settings.serve.max_num_seqs, settings.concurrency))
    with ModelServer(settings.model, serve, settings.serve_log, settings.model_name) as server:
        yield server


def token_counter(model: Path | None) -> Callable[[str], int] | None:
    """Return how many tokens of the model a text has, None without a tokenizer at hand."""
    if model is None or not (model / "tokenizer.json").is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)
