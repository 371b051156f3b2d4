"""`TokenPolicy`: the policy of an episode that speaks tokens, so that training sees exactly what was sampled.

The prompt is rendered once; after that, generated tokens and the tokens of new tool messages are appended, and nothing
is ever tokenised again. Mask 1 marks what the model wrote, 0 what the world said.
"""
from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any, Protocol

from environment.core.trajectory import TokenSpan
from environment.session.turns import AssistantTurn

Message = dict[str, Any]


@dataclass(frozen=True)
class Generated:
    """What the rollout engine returned for one turn."""

    token_ids: list[int]
    log_probs: list[float] | None
    finished: bool
    """False where the token limit cut the turn."""
    extra: dict[str, Any] = field(default_factory=dict[str, Any])


class Engine(Protocol):
    """The rollout engine and the tokenizer, as a `TokenPolicy` needs them."""

    async def opening(self, messages: list[Message], tools: list[dict[str, Any]]) -> list[int]:
        """Return the prompt tokens of the opening messages."""
        ...

    async def appended(
        self, known: list[Message], new: list[Message], tokens: list[int], tools: list[dict[str, Any]]
    ) -> list[int]:
        """Return the tokens that follow `tokens` once the new messages and a generation prompt are rendered."""
        ...

    async def generate(self, tokens: list[int], max_tokens: int) -> Generated:
        """Sample one assistant turn."""
        ...

    def text(self, token_ids: list[int]) -> str:
        """Return the text of a turn without its end mark."""
        ...


class TokenPolicy:
    """Writes assistant turns by sampling, and keeps the token record of the episode."""

    def __init__(self, engine: Engine, tools: list[dict[str, Any]], response_tokens: int, turn_tokens: int) -> None:
        """Begin a record.

        Args:
            response_tokens: budget of the whole response, observations included.
            turn_tokens: budget of one assistant turn.
        """
        self.prompt: list[int] = []
        self.response: list[int] = []
        self.mask: list[int] = []
        self.log_probs: list[float] | None = []
        """One a response token, 0 where the world spoke; None where the engine gives none."""
        self.spans: list[TokenSpan] = []
        self.extra: dict[str, Any] = {}
        self.seconds = 0.0
        self._engine = engine
        self._tools = tools
        self._response_tokens = response_tokens
        self._turn_tokens = turn_tokens
        self._messages: list[Message] = []

    async def act(self, new_messages: list[Message]) -> AssistantTurn:
        """Return the next turn; an empty, truncated one where the token budget leaves no room."""
        await self._read(new_messages)
        room = min(self._response_tokens - len(self.response), self._turn_tokens)
        if room <= 0:
            return AssistantTurn("", truncated=True)
        started = time.monotonic()
        made = await self._engine.generate(self.prompt + self.response, room)
        self.seconds += time.monotonic() - started
        self._write(made)
        text = self._engine.text(made.token_ids)
        self._messages.append({"role": "assistant", "content": text})
        return AssistantTurn(text, tokens=len(made.token_ids), truncated=not made.finished)

    async def _read(self, new_messages: list[Message]) -> None:
        if not self.prompt:
            self.prompt = await self._engine.opening(new_messages, self._tools)
        else:
            added = await self._engine.appended(
                self._messages, new_messages, self.prompt + self.response, self._tools
            )
            added = added[: self._response_tokens - len(self.response)]
            self.response += added
            self.mask += [0] * len(added)
            self._add_log_probs([0.0] * len(added))
        self._messages += new_messages

    def _write(self, made: Generated) -> None:
        start = len(self.response)
        self.response += made.token_ids
        self.mask += [1] * len(made.token_ids)
        self._add_log_probs(made.log_probs if made.token_ids else [])
        self.spans.append(TokenSpan(len(self.spans), start, len(self.response)))
        self.extra = made.extra

    def _add_log_probs(self, values: list[float] | None) -> None:
        """Append; once a turn came without, a made-up number would stand in for a probability, so give up all."""
        known = self.log_probs is not None and values is not None
        self.log_probs = [*(self.log_probs or []), *(values or [])] if known else None
