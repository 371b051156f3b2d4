"""`toolrl`: the dense reward of ToolRL (arXiv 2504.13958), moved to [0, 1].

    score     = (R_format + R_correct + 3) / 7 = (R_format + 6·R_max / S_max) / 7          R_format is 0 or 1
    R_correct = 6 · R_max / S_max - 3           from -3, where calls are wanted and none is made, to 3
    R_max     = |N_G ∩ N_P| / |N_G ∪ N_P| + max over pairings P of calls with gold steps of the same tool
                Σ_pairs |keys_G ∩ keys_P| / |keys_G ∪ keys_P| + Σ_pairs Σ_k [value_G(k) = value_P(k)]
    S_max     = 1 + |G| + Σ_G |keys_G|

N are the sets of tool names, G the gold steps. The shift keeps the order of any two trajectories, and a group-relative
advantage doesn't see it. Values are compared in canonical form, the one normal form of this project. R_format: every
turn has the form `tool_call` (`training.reward.form`), and something is called where calls are wanted.

By its definition a call too many, a repeated one and an answer left out cost nothing, and values may come from
anywhere: see `limits`. Degenerate case: a task without steps gives R_correct 3 for no call, else -3.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from BFCL.check.assignment import best_assignment
from BFCL.check.match import chain_of
from environment.core.calls import JsonValue, ParseStatus
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from training.reward.form import assistant_turns, tool_call_form
from training.reward.options import check_number
from training.reward.score import Score, scored

Made = tuple[str, Mapping[str, JsonValue]]
"""A call: its tool and its canonical arguments."""


@dataclass(frozen=True)
class ToolRlOptions:
    """Settings; the defaults are the paper's."""

    format: float = 1.0
    """Weight of the form."""
    correctness: float = 6.0
    """Weight of the calls: the width of the paper's range for them."""
    think: float = 0.0
    """1: every turn must begin with a closed `<think>` block, as the paper's prompts ask."""

    def __post_init__(self) -> None:
        check_number("format", self.format, least=0.0)
        check_number("correctness", self.correctness, least=0.0)
        check_number("think", self.think, least=0.0, most=1.0)
        if self.format + self.correctness <= 0:
            raise ConfigError("reward.weights: every component is switched off", fix="give one a weight above 0")


def score(
    trajectory: Trajectory,
    task: Task,
    schemas: Mapping[str, ToolSchema],
    options: ToolRlOptions = ToolRlOptions(),
) -> Score:
    """Score one trajectory; total."""
    chain = chain_of(task, schemas)
    gold = [(gold.step.function, gold.arguments) for gold in chain.steps]
    made = [(call.name, chain.canonical(call)) for call in trajectory.calls if call.status == ParseStatus.OK]
    names, keys, values = _parts(gold, made)
    most = 1 + len(gold) + sum(len(arguments) for _, arguments in gold)
    correct = (names + keys + values) / most if gold else float(not trajectory.calls)
    called = bool(made) or not gold
    form = float(called and tool_call_form(assistant_turns(trajectory), bool(options.think)))
    total = options.format + options.correctness
    components = {
        "format": form,
        "correct": correct,
        "R_correct": 6 * correct - 3,
        "match/names": names,
        "match/keys": keys,
        "match/values": values,
        "match/most": float(most),
    }
    mean = (options.format * form + options.correctness * correct) / total
    return scored(mean, components, chain.match(trajectory), trajectory)


def _parts(gold: Sequence[Made], made: Sequence[Made]) -> tuple[float, float, float]:
    """Return the shares of names, argument names and values under the best pairing."""
    wanted, called = {name for name, _ in gold}, {name for name, _ in made}
    union = wanted | called
    names = len(wanted & called) / len(union) if union else 1.0
    pairs = [[_pair(g, m) for m in made] for g in gold]
    chosen = best_assignment([[keys + values for keys, values in row] for row in pairs]) if made else []
    taken = [pairs[row][column] for row, column in enumerate(chosen) if column is not None]
    return names, sum(keys for keys, _ in taken), sum(values for _, values in taken)


def _pair(gold: Made, made: Made) -> tuple[float, float]:
    if gold[0] != made[0]:
        return 0.0, 0.0
    ours, theirs = gold[1].keys(), made[1].keys()
    union = len(ours | theirs)
    values = sum(_same(gold[1][key], made[1][key]) for key in ours & theirs)
    return (len(ours & theirs) / union if union else 1.0), float(values)


def _same(one: JsonValue, other: JsonValue) -> bool:
    try:
        return type(one) is type(other) and one == other
    except RecursionError:
        return False
