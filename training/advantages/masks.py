"""Which rollouts of a batch are trained on, and which count in their group's mean and spread.

A rollout that the infrastructure failed says nothing about the policy: it is neither scored nor counted. A rollout
with a void turn (no readable call, no answer; SimpleTIR, arXiv 2509.02479) and one cut by its token budget (overlong
filtering, DAPO, arXiv 2503.14476) are masked as set: `loss` leaves their score in the group's mean, `group` does not.

A group that lost members so and has fewer than `least_group` left is dropped whole: the advantage of a single rollout
would be its bare score. Groups that lost nobody are never touched. With `gate` groups without spread in outcome go
too. Degenerate case: nothing left is no error; the caller keeps the masks of one row so that a loss is defined.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from training.advantages.gate import undecided
from training.advantages.groups import group_size
from training.advantages.rollouts import Rollouts
from training.advantages.settings import AdvantageSettings, MaskMode


@dataclass(frozen=True)
class Selection:
    """What `select` decided; both masks are (rows,) bool."""

    counted: Tensor
    """In its group's statistics."""
    trained: Tensor
    """Carries loss; always counted as well."""
    reasons: dict[str, float]
    """How many rollouts each rule took out of the loss, by rule; a rollout may be under several."""

    @property
    def everything(self) -> bool:
        """Whether no row was left out."""
        return bool(self.trained.all()) and bool(self.counted.all())


def select(rollouts: Rollouts, settings: AdvantageSettings) -> Selection:
    """Apply the masks, the floor for groups that lost members, and the gate."""
    real = ~rollouts.padding
    rules: dict[str, tuple[Tensor, MaskMode | None]] = {
        "infrastructure": (rollouts.void & real, "group"),
        "void_turn": (rollouts.void_turn & real, settings.masks.void_turn),
        "overlong": (rollouts.overlong & real, settings.masks.overlong),
    }
    out = {name: (rows, mode) for name, (rows, mode) in rules.items() if mode is not None}
    counted = ~_any([rows for rows, mode in out.values() if mode == "group"], real)
    trained = counted & ~_any([rows for rows, _ in out.values()], real)
    short = _short(rollouts.group, real, counted, settings.masks.least_group)
    dropped = {name: rows for name, (rows, _) in out.items()} | {"short_group": short}
    if settings.gate == "acc":
        dropped["gate"] = undecided(rollouts.acc, rollouts.group, counted & real) & trained & real
        trained = trained & ~dropped["gate"]
    reasons = {name: float(rows.sum()) for name, rows in dropped.items()}
    return Selection(counted & ~short, trained & ~short, reasons)


def _any(rows: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack([torch.zeros_like(like), *rows]).any(0)


def _short(group: Tensor, real: Tensor, counted: Tensor, least: int) -> Tensor:
    """Return the rows still counted whose group lost members and has too few left."""
    left, whole = group_size(group, counted & real), group_size(group, real)
    return counted & real & (left < whole) & (left < least)
