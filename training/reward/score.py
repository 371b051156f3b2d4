"""`Score`: what every reward returns."""
from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Score:
    """The reward of one trajectory and what it is made of."""

    score: float
    """The reward, 0 to 1."""
    components: dict[str, float]
    """Every part by name, ready to be logged; the same names for every trajectory of a reward."""
    acc: bool
    """The task was done: see `BFCL.check.match`. Independent of weights."""
    turn_accuracy: float = 0.0
    call_accuracy: float = 0.0
    correct_calls: int = 0
    gold_steps: int = 0
    void: bool = False
    """The infrastructure failed: leave the sample out, its score means nothing."""
    notes: tuple[str, ...] = field(default=())
    """What a reward has to say beyond numbers, such as an input on which the reference would have raised."""

    def as_log(self) -> dict[str, float]:
        """Return one flat dict of floats: `score`, `acc`, the accuracies and every component."""
        head = {"score": self.score, "acc": float(self.acc)}
        head |= {"turn_accuracy": self.turn_accuracy, "call_accuracy": self.call_accuracy}
        return head | self.components
