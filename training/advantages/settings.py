"""Settings of the advantage pipeline, as they stand under `tool_rl.advantage`. No torch: the launcher checks them.

Every default is off: then an update is verl's own, bit for bit.
"""
from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MaskMode = Literal["loss", "group"]
"""What is left out of a rollout: its loss only, or its place in the group's mean and spread as well."""
Finite = Annotated[float, Field(allow_inf_nan=False)]


class Section(BaseModel):
    """Base of the sections: frozen, no unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class MaskSettings(Section):
    """Rollouts that are not trained on. One that the infrastructure failed is always out of both."""

    void_turn: MaskMode | None = None
    """A rollout with a turn that holds neither a readable call nor an answer (arXiv 2509.02479); None trains on it."""
    overlong: MaskMode | None = None
    """A rollout that its token budget cut short (arXiv 2503.14476, overlong filtering); None trains on it."""
    least_group: Annotated[int, Field(ge=1)] = 2
    """A group that lost members and has fewer left is dropped; 1 keeps even a single one, compared with nothing."""


class TurnCreditSettings(Section):
    """Credit by turn on top of the rollout's advantage; `turn_credit` says how."""

    enabled: bool = False
    weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    """Of the credit beside the rollout's own advantage; 0 adds nothing."""
    gamma: Annotated[float, Field(ge=0, le=1)] = 1.0
    """Discount of later turns; 0 looks at the turn itself only."""
    baseline: Literal["reached", "padded", "episode"] = "reached"
    """Who a turn is compared with: others that reached it, all others (0 once ended), or whole episodes."""


class EgpoSettings(Section):
    """The entropy term; `egpo` has the formula."""

    enabled: bool = False
    lam: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.4
    """Weight of the bonus; 0 gives the plain advantages."""
    alpha: Annotated[float, Field(gt=1, allow_inf_nan=False)] = 2.0
    """Bound of the bonus as a share 1/alpha of |A|; above 1, or the sign of an advantage could flip."""
    scope: Literal["cot", "assistant", "assistant_non_tool"] = "cot"
    """Tokens whose entropy counts: inside closed think markers, all the model wrote, or that without calls."""
    shape: Literal["clip", "tanh", "ratio"] = "clip"
    """The published hard bound, a smooth one, or the factor of the group's mean entropy over the rollout's own."""
    think: tuple[str, str] = ("<think>", "</think>")
    """The markers around a chain of thought, as text."""


class AdvantageSettings(Section):
    """masks -> base (verl's `algorithm.adv_estimator`) -> turn credit -> EGPO -> re-centre."""

    masks: MaskSettings = MaskSettings()
    gate: Literal["acc"] | None = None
    """`acc` drops groups in which every rollout succeeded or none did; None keeps them."""
    max_refills: Annotated[int, Field(ge=1)] = 10
    """With `algorithm.filter_groups` on: batches of prompts sampled for one step before the run is stopped."""
    turn_credit: TurnCreditSettings = TurnCreditSettings()
    egpo: EgpoSettings = EgpoSettings()
    recentre: bool = False
    """Take each group's mean off again, which turn credit and EGPO move away from zero."""

    @property
    def shapes(self) -> bool:
        """Whether anything is added to the base."""
        return self.turn_credit.enabled or self.egpo.enabled or self.recentre


ONE_A_ROLLOUT = frozenset({"grpo", "grpo_vectorized", "grpo_passk", "rloo", "rloo_vectorized", "opo", "gpg"})
"""verl's estimators that give every token of a rollout the same advantage, which turn credit and EGPO shape."""
