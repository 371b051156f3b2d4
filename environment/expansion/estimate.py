"""What an expansion would cost, without asking anybody.

Calls that can be told from what is recorded are counted exactly. What lies behind an answer that nobody has seen yet is
bounded: branches are pruned, so a step asks at most (branches) x (argument sets for each).
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from environment.core.calls import ResultStatus
from environment.expansion.asking import Asker
from environment.expansion.chains import Chain
from environment.expansion.expander import Branch, Expander, ExpansionSizes


@dataclass(frozen=True)
class Estimate:
    """Requests that an expansion would send."""

    certain: int = 0
    """Calls known now that are not recorded."""
    most: int = 0
    """Calls in all at most, tries after failures apart."""
    recorded: int = 0
    """Calls that cost nothing."""

    def __add__(self, other: Estimate) -> Estimate:
        """Add two."""
        return Estimate(self.certain + other.certain, self.most + other.most, self.recorded + other.recorded)


def estimate(chains: Sequence[Chain], expander: Expander, asker: Asker, sizes: ExpansionSizes) -> Estimate:
    """Return the cost of walking some chains; the asker must have nobody to ask."""
    return sum((_of_chain(chain, expander, asker, sizes) for chain in chains), Estimate())


def _of_chain(chain: Chain, expander: Expander, asker: Asker, sizes: ExpansionSizes) -> Estimate:
    branches: dict[int, list[Branch]] = {}
    reach: list[int] = []  # branches that a step can have at most
    unseen: list[bool] = []  # whether answers of a step, or before it, are not known yet
    total = Estimate()
    for number, step in enumerate(chain.steps):
        known = all(branches[before] for before in step.producers)
        asked = list(expander.calls_of(chain, number, branches)) if known else []
        answers = asker.ask_all(step.tool, [call.arguments for call in asked])
        branches[number] = expander.usable(chain, number, asked, answers)
        missing = sum(answer is None or answer.status is ResultStatus.MISS for answer in answers)
        recorded = len(answers) - missing
        bound = _bound([reach[before] for before in step.producers], sizes)
        guessed = any(unseen[before] for before in step.producers)
        most = max(missing, bound - recorded) if guessed else missing
        total += Estimate(missing, most, recorded)
        unseen.append(guessed or missing > 0)
        reach.append(min(sizes.branches, most + len(branches[number])))
    return total


def _bound(reaches: Sequence[int], sizes: ExpansionSizes) -> int:
    return min(sizes.branches, prod(reaches)) * sizes.dependent if reaches else sizes.first
