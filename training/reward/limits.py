"""What the rewards can't keep from being gamed, by their published definitions, as data.

`training/reward/tests/policies.py` has a suite of policies that try to earn without working. Every reward pays each of
them less than an honest partial solution, the first half of the chain and an answer, but for the pairs listed here. The
tests hold both: what isn't listed never pays, and what is listed does, so that no entry outlives its reason.
`graduated`, which is meant for training, has no entry.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """Policies a reward pays as much as an honest half, or more."""

    policies: frozenset[str]
    """Names of the suite; empty with `all_or_nothing`."""
    reason: str
    all_or_nothing: bool = False
    """An honest part earns 0 as well, so no policy can earn less: none earns more."""


LIMITS: Mapping[str, tuple[Limit, ...]] = {
    "graduated": (),
    "legacy": (
        Limit(
            frozenset({"gold in the reasoning", "forged replies"}),
            "it reads the decoded text, so calls in the reasoning count as made and replies the model wrote as given",
        ),
        Limit(
            frozenset({"endless repeats", "first call often, the rest by name", "every call many times"}),
            "it averages over the calls made and looks for steps by name, so repeating a right call raises the average",
        ),
    ),
    "binary": (
        Limit(
            frozenset(),
            "the papers pay for a whole solution alone: a part of it earns 0, and so does every policy of the suite",
            all_or_nothing=True,
        ),
    ),
    "toolrl": (
        Limit(
            frozenset({"every call many times"}),
            "the paper compares the best pairing with the gold calls; calls beyond it cost nothing",
        ),
    ),
}
"""Reward name → its limits."""


def limit_of(reward: str, policy: str) -> Limit | None:
    """Return the limit that covers a policy under a reward, None where the reward must pay it less."""
    found = (entry for entry in LIMITS[reward] if entry.all_or_nothing or policy in entry.policies)
    return next(found, None)
