"""`Asker`: asks an endpoint for JSON of a known shape, within a budget, and never twice for the same.

    question ─► on disk? ─► room in the budget? ─► Endpoint.chat (retries) ─► usable? ─► on disk ─► answer
                                                                              └─ no: say what was wrong, ask again

Only usable answers are kept on disk, under the first question, whichever try gave them.
"""
from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from environment.server.endpoint.answers import Shape, Unusable, answer_text, read_answer
from environment.server.endpoint.budget import CHARS_A_TOKEN, Budget
from environment.server.endpoint.chat import Endpoint
from environment.server.endpoint.replies import ReplyCache, request_key

Message = Mapping[str, str]
Format = Literal["json_schema", "json_object", "none"]
"""How the endpoint is told to write JSON; `none` leaves it to the prompt."""
_In = TypeVar("_In")
_Out = TypeVar("_Out")


@dataclass(frozen=True)
class AskSettings:
    """How answers are sampled."""

    temperature: float = 0.0
    max_tokens: int = 1024
    """Of one answer; one that needs more is cut, and not used."""
    attempts: int = 3
    """Answers asked for until one can be used."""
    format: Format = "json_schema"


@dataclass
class Asker:
    """Questions to one model."""

    endpoint: Endpoint
    settings: AskSettings = AskSettings()
    budget: Budget = field(default_factory=Budget)
    cache: ReplyCache | None = None
    counts: Counter[str] = field(default_factory=Counter[str])
    """`asked`, `cached`, and each reason why an answer could not be used."""

    async def ask(self, messages: Sequence[Message], shape: type[Shape]) -> Shape:
        """Return the answer.

        Raises:
            Unusable: every attempt gave an answer that can't be used.
            EndpointError: Fatal, TooLong, Exhausted or BudgetSpent.
        """
        key = request_key(self.endpoint.model, self._body(messages, shape))
        kept = self.cache.get(key) if self.cache is not None else None
        if kept is not None:
            self.counts["cached"] += 1
            return read_answer(kept, shape)
        said: list[Message] = list(messages)
        last: Unusable | None = None
        for _ in range(self.settings.attempts):
            try:
                text = await self._text(self._body(said, shape))
                answer = read_answer(text, shape)
            except Unusable as error:
                self.counts[error.why.value] += 1
                last, said = error, [*messages, *_complaint(error)]
            else:
                if self.cache is not None:
                    self.cache.put(key, text)
                return answer
        raise last if last else ValueError("attempts must be at least 1")

    def _body(self, messages: Sequence[Message], shape: type[Shape]) -> dict[str, Any]:
        chosen = self.settings
        body = {"messages": list(messages), "temperature": chosen.temperature, "max_tokens": chosen.max_tokens}
        if chosen.format == "json_object":
            return {**body, "response_format": {"type": "json_object"}}
        if chosen.format == "json_schema":
            schema = {"name": shape.__name__, "schema": shape.model_json_schema(), "strict": True}
            return {**body, "response_format": {"type": "json_schema", "json_schema": schema}}
        return body

    async def _text(self, body: dict[str, Any]) -> str:
        prompt = sum(len(m["content"]) for m in body["messages"]) // CHARS_A_TOKEN
        held = await self.budget.hold(prompt, self.settings.max_tokens)
        self.counts["asked"] += 1
        try:
            reply = await self.endpoint.chat(body)
        except BaseException:
            self.budget.settle(held, None)
            raise
        self.budget.settle(held, reply)
        return answer_text(reply)


def _complaint(error: Unusable) -> list[Message]:
    """Return what is added to the question after an answer that could not be used."""
    wrong = f"That can't be used: {error.detail}. Answer again, with the JSON object alone."
    return [{"role": "assistant", "content": error.text or "(nothing)"}, {"role": "user", "content": wrong}]


async def in_order(
    items: Iterable[_In], work: Callable[[_In], Awaitable[_Out]], window: int
) -> AsyncIterator[_Out]:
    """Yield `work(item)` for each item in order, with at most `window` of them under way; items are read as needed.

    The first error ends the rest.
    """
    running: deque[asyncio.Future[_Out]] = deque()
    try:
        for item in items:
            running.append(asyncio.ensure_future(work(item)))
            if len(running) >= window:
                yield await running.popleft()
        while running:
            yield await running.popleft()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
