"""A bound on dynamic sampling: prompts asked for in one step, after which the run stops with the cause."""
from __future__ import annotations

from environment.core.errors import StageError


class Refills:
    """Counts the prompts that `algorithm.filter_groups` draws in place of groups without spread."""

    def __init__(self, most: int) -> None:
        """Begin to count; `most` prompts a step are allowed."""
        self._most = most
        self._step = -1
        self._taken = 0

    def take(self, prompts: int, step: int) -> None:
        """Count prompts of a step; StageError where there are too many."""
        self._taken = prompts + (self._taken if step == self._step else 0)
        self._step = step
        if self._taken > self._most:
            raise StageError(
                f"step {step}: no batch of groups that differ in outcome came together",
                where="algorithm.filter_groups",
                got=f"{self._taken} prompts asked for",
                expected=f"at most {self._most} (tool_rl.advantage.max_refills x data.train_batch_size)",
                fix="the tasks are all too hard or too easy for this model: change the mix, warm-start longer, or "
                "algorithm.filter_groups.enable=false",
            )
