"""`Budget`: a cap on the tokens and the money that asking an endpoint may take, kept while many ask at once.

Before a request its largest possible use is held; what it really used takes the place of that afterwards. A request
that fits the rest only once others have ended waits for them; one that can't fit any more raises `BudgetSpent`, so the
cap is never passed as long as the endpoint keeps to `max_tokens` and the prompt to its estimate.
"""
from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from environment.core.errors import ConfigError
from environment.server.endpoint.failures import EndpointError

CHARS_A_TOKEN = 3
"""Characters a token has at least, on average, in the prompts held before their true length is known."""


class BudgetSpent(EndpointError):
    """The cap is reached; nothing more is asked, and what was answered stays."""


@dataclass(frozen=True)
class Price:
    """Cost of a million tokens, in one currency of your choice."""

    prompt: float = 0.0
    completion: float = 0.0

    def of(self, prompt: int, completion: int) -> float:
        """Return the cost of so many tokens."""
        return (prompt * self.prompt + completion * self.completion) / 1e6


@dataclass
class Budget:
    """Caps, and what is used so far; None means no cap."""

    max_tokens: int | None = None
    """Prompt and completion together."""
    max_cost: float | None = None
    price: Price = Price()
    prompt: int = 0
    """Tokens used so far."""
    completion: int = 0
    _held: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]], repr=False)
    _freed: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def __post_init__(self) -> None:
        if self.max_cost is not None and not (self.price.prompt or self.price.completion):
            raise ConfigError(
                "a cap on the cost needs prices",
                where="budget.max_cost",
                got=self.max_cost,
                fix="give the price of a million prompt and completion tokens, or cap the tokens",
            )

    @property
    def cost(self) -> float:
        """What was used so far costs so much."""
        return self.price.of(self.prompt, self.completion)

    async def hold(self, prompt: int, completion: int) -> tuple[int, int]:
        """Set tokens aside for a request, once there is room for them; `settle` must follow.

        Raises:
            BudgetSpent: there is no room, and none will be left by the requests under way.
        """
        need = (prompt, completion)
        while not self._fits(need, self._held):
            if not self._held:
                raise self._spent(need)
            self._freed.clear()
            await self._freed.wait()
        self._held.append(need)
        return need

    def settle(self, held: tuple[int, int], reply: Mapping[str, Any] | None) -> None:
        """Put what a reply says it used in the place of what was held; None where no reply came.

        A reply that reports no usage counts as all that was held.
        """
        self._held.remove(held)
        self._freed.set()
        if reply is None:
            return
        given: object = reply.get("usage")
        usage: Mapping[str, Any] = cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else {}
        prompt, completion = usage.get("prompt_tokens"), usage.get("completion_tokens")
        self.prompt += prompt if isinstance(prompt, int) else held[0]
        self.completion += completion if isinstance(completion, int) else held[1]

    def _fits(self, need: tuple[int, int], held: list[tuple[int, int]]) -> bool:
        prompt = self.prompt + need[0] + sum(p for p, _ in held)
        completion = self.completion + need[1] + sum(c for _, c in held)
        if self.max_tokens is not None and prompt + completion > self.max_tokens:
            return False
        return self.max_cost is None or self.price.of(prompt, completion) <= self.max_cost

    def _spent(self, need: tuple[int, int]) -> BudgetSpent:
        cap = f"{self.max_tokens} tokens" if self.max_tokens is not None else f"{self.max_cost} of cost"
        return BudgetSpent(
            f"the budget is spent: {self.prompt + self.completion} tokens used, {sum(need)} more needed",
            where="budget",
            got=f"{self.cost:.4f} of cost" if self.max_cost is not None else None,
            expected=f"at most {cap}",
            fix="raise the cap and run again: answers that are paid for are kept and not asked for again",
        )
