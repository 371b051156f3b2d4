"""`Score`: what every reward returns."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from BFCL.check.match import Match
from environment.core.trajectory import StopReason, Trajectory


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


def scored(
    score: float, components: Mapping[str, float], match: Match, trajectory: Trajectory, notes: tuple[str, ...] = ()
) -> Score:
    """Return a score with what every reward says alike of a trajectory: success, accuracies, void."""
    return Score(
        score=min(1.0, max(0.0, score)),
        components=dict(components),
        acc=match.success,
        turn_accuracy=match.turn_accuracy,
        call_accuracy=match.call_accuracy,
        correct_calls=match.correct_calls,
        gold_steps=len(match.steps),
        void=trajectory.stop == StopReason.INFRASTRUCTURE,
        notes=notes,
    )
