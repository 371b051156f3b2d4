"""`graduated`: credit for every right step, in order, with observed values, and a price on waste.

    score     = economy · (w_a·R_atomic + w_o·R_orch + w_s·R_state + w_f·R_form)         weights normalised to sum 1
    R_atomic  = 1/N Σ_i q_i             q_i = ¹⁄₁₀ name + ¹⁄₁₀ structure + ⁴⁄₁₀ values + ⁴⁄₁₀ [all arguments exact]
    R_orch    = 1/N Σ_i q_i · e_i       e_i = mean over the edges into step i of
                                              1 value observed · `order_only` producer came before · 0 neither
    R_state   = [ended with an answer] · R_atomic · (c_bare + (1 - c_bare) · told)
                                        told = share of the found values in the task's answer that this one names
    R_form    = readable calls / calls
    economy   = (1-c_surplus)^surplus · (1-c_failed)^failed · (1-c_repeated)^repeated

N is the number of gold steps; the match of calls to steps is one-to-one (`BFCL.check.match`), so a step is credited
once, for its best attempt. A call that was not carried out has q = 0. structure and values are means over all argument
names of either side, values weighted by where the gold value comes from (an earlier result, or the user).

Why this shape. Calls beyond the chain cost by a factor, not by dividing by max(N, calls): dividing would charge one
failed try 1/(N+1), more than a wrong value in a long chain, and would leave spam 1/k of the credit. A factor keeps
recovery cheap (2 %), a needless executed call visible inside a group (11 %, 15 % for a repeat) and spam worthless (40
calls: under 2 %). The bonus on all-exact makes one wrong value of eight cost more than one failed try. R_state is
gated by R_atomic and R_form weighs 2 %, so talking without working earns nothing to speak of; half of it is for saying
what was found (`BFCL.check.answer`), which a right chain with a wrong last sentence lacks.

Degenerate cases: a task without steps gives 1 for an answer without calls; an episode that failed for reasons outside
the model is scored like any other and marked `void`.
"""
from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from BFCL.check.credit import ArgumentCredit
from BFCL.check.match import EdgeCheck, Match, StepMatch, chain_of
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from training.reward.score import Score, scored

NAME_SHARE, STRUCTURE_SHARE, VALUE_SHARE, EXACT_SHARE = 0.1, 0.1, 0.4, 0.4


@dataclass(frozen=True)
class RewardWeights:
    """Settings of the graduated reward. The four component weights are normalised to sum 1."""

    atomic: float = 0.4
    """Each call by itself."""
    orchestration: float = 0.4
    """Each call in its place: values taken from earlier results. 0 ignores order and data flow."""
    state: float = 0.18
    """Ending with an answer that uses what was found. 0 doesn't care how the episode ends."""
    form: float = 0.02
    """Writing calls that can be read; the only credit a wrong tool gets. Keep it small."""
    bare_answer: float = 0.5
    """Share of `state` for an answer that names nothing of what was found; 1 asks for no more than an answer."""
    order_only: float = 0.25
    """Share of an edge's credit when the producer came first but the value was never seen."""
    derived: float = 1.0
    """Weight of an argument whose value comes out of an earlier result."""
    supplied: float = 1.0
    """Weight of an argument whose value comes from the user."""
    surplus_cost: float = 0.11
    """Share of the score lost for each executed call that no step wanted."""
    failed_cost: float = 0.02
    """Share of the score lost for each failed try."""
    repeated_cost: float = 0.04
    """Share of the score lost, on top, when such a call repeats an earlier one."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
                raise ConfigError(f"reward.weights.{f.name}", got=value, expected="a finite number of at least 0")
        for name in ("bare_answer", "order_only", "surplus_cost", "failed_cost", "repeated_cost"):
            if getattr(self, name) > 1:
                raise ConfigError(f"reward.weights.{name}", got=getattr(self, name), expected="a share, at most 1")
        if self.total <= 0:
            raise ConfigError("reward.weights: every component is switched off", fix="give one a weight above 0")
        if min(self.derived, self.supplied) <= 0:
            raise ConfigError("reward.weights: derived and supplied arguments must both count", expected="above 0")

    @property
    def total(self) -> float:
        """Sum of the component weights."""
        return self.atomic + self.orchestration + self.state + self.form


DEFAULT_WEIGHTS = RewardWeights()


def score(
    trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema], weights: RewardWeights = DEFAULT_WEIGHTS
) -> Score:
    """Score one trajectory."""
    return score_match(chain_of(task, schemas).match(trajectory), trajectory, weights)


def score_match(match: Match, trajectory: Trajectory, weights: RewardWeights = DEFAULT_WEIGHTS) -> Score:
    """Score a trajectory that is already laid beside its chain."""
    levels = [_levels(s, weights) for s in match.steps]
    flows = [_flow(s.edges, weights) for s in match.steps]
    quality = [level.quality for level in levels]
    atomic = _mean(quality, 1.0)
    orchestration = _mean([q * f for q, f in zip(quality, flows, strict=True)], 1.0)
    used = weights.bare_answer + (1 - weights.bare_answer) * match.told
    state = atomic * used if match.answered else 0.0
    form = match.readable / match.calls if match.calls else float(not match.steps)
    base = weights.atomic * atomic + weights.orchestration * orchestration + weights.state * state + weights.form * form
    economy = _economy(match, weights)
    components = {
        "R_atomic_validity": atomic,
        "R_outcome_orchestration": orchestration,
        "R_outcome_state": state,
        "R_form": form,
        "economy": economy,
        "answer/told": match.told if match.answered else 0.0,
        "atomic/name": _mean([level.name for level in levels], 1.0),
        "atomic/structure": _mean([level.structure for level in levels], 1.0),
        "atomic/values": _mean([level.values for level in levels], 1.0),
        "atomic/exact": _mean([float(s.correct) for s in match.steps], 1.0),
        **_edge_shares(match),
        **_counts(match),
    }
    return scored(economy * base / weights.total, components, match, trajectory)


@dataclass(frozen=True, slots=True)
class _Levels:
    name: float = 0.0
    structure: float = 0.0
    values: float = 0.0
    quality: float = 0.0


_EXACT = _Levels(1.0, 1.0, 1.0, 1.0)


def _levels(step: StepMatch, weights: RewardWeights) -> _Levels:
    if step.call is None or not step.executed:
        return _Levels()
    if step.exact:
        return _EXACT
    credits = step.arguments
    structure = _mean([float(c.typed) for c in credits], 1.0)
    weighed = [(weights.derived if c.derived else weights.supplied, c) for c in credits]
    values = _weighted(weighed)
    return _Levels(1.0, structure, values, NAME_SHARE + STRUCTURE_SHARE * structure + VALUE_SHARE * values)


def _weighted(weighed: list[tuple[float, ArgumentCredit]]) -> float:
    total = sum(w for w, _ in weighed)
    return sum(w * c.value for w, c in weighed) / total if total else 1.0


def _flow(edges: tuple[EdgeCheck, ...], weights: RewardWeights) -> float:
    return _mean([1.0 if e.observed else weights.order_only * e.ordered for e in edges], 1.0)


def _economy(match: Match, weights: RewardWeights) -> float:
    kept = (1 - weights.surplus_cost) ** len(match.surplus) * (1 - weights.failed_cost) ** len(match.failed)
    return kept * (1 - weights.repeated_cost) ** len(match.repeated)


def _edge_shares(match: Match) -> dict[str, float]:
    edges = [e for s in match.steps for e in s.edges]
    observed, ordered = [float(e.observed) for e in edges], [float(e.ordered) for e in edges]
    return {"edges/observed": _mean(observed, 1.0), "edges/ordered": _mean(ordered, 1.0)}


def _counts(match: Match) -> dict[str, float]:
    counts = {
        "gold_steps": len(match.steps),
        "made": match.calls,
        "unreadable": match.calls - match.readable,
        "matched": sum(s.call is not None for s in match.steps),
        "correct": match.correct_calls,
        "correct_prefix": match.correct_prefix,
        "surplus": len(match.surplus),
        "failed": len(match.failed),
        "repeated": len(match.repeated),
    }
    return {f"calls/{name}": float(count) for name, count in counts.items()}


def _mean(values: list[float], empty: float) -> float:
    return sum(values) / len(values) if values else empty
