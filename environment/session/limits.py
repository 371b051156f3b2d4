"""`Limits`: how far one episode may go."""
from __future__ import annotations

from dataclasses import dataclass, fields

from environment.core.errors import ConfigError
from environment.session.observation import ObservationCut, TokenCounter


@dataclass(frozen=True)
class Limits:
    """Bounds of one episode. Reaching one ends the episode with the `StopReason` of its name."""

    max_turns: int = 20
    """Assistant turns."""
    max_calls: int = 40
    """Calls in all, unreadable ones included. Only an attempt beyond this ends the episode."""
    max_tokens: int = 16384
    """Tokens of assistant turns and observations together; the opening messages are not counted."""
    max_seconds: float | None = 600.0
    """Wall time, enforced by `drive`; None waits for ever."""
    max_invalid: int = 3
    """Unreadable calls in a row."""
    parallel_calls: int = 8
    """Calls of one turn that are executed; further ones get a `not_executed` result."""
    observation_tokens: int | None = 1024
    """Longest observation in tokens (a quarter of its characters where no tokenizer is at hand)."""
    observation_chars: int | None = None
    """Longest observation in characters; with `observation_tokens` both hold."""

    def __post_init__(self) -> None:
        for name in (f.name for f in fields(self)):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"limits.{name}", got=value, expected="a number above 0")

    def cut(self, count: TokenCounter | None = None) -> ObservationCut:
        """Return the cut of observations under these limits."""
        return ObservationCut(self.observation_tokens, self.observation_chars, count)
