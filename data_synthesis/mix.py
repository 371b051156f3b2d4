"""The mix: which share of the rows each pattern gets. Chain length and patterns are the control of difficulty."""
from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from data_synthesis.templates.model import Pattern
from environment.core.errors import ConfigError, nearest_name


@dataclass(frozen=True)
class Mix:
    """Shares of the rows; they need not sum to one."""

    steps: Mapping[int, float] = field(default_factory=lambda: {1: 0.1, 2: 0.25, 3: 0.35, 4: 0.3})
    """Number of calls → share. A length that isn't named gets nothing; all lengths count alike where this is empty."""
    patterns: Mapping[str, float] = field(default_factory=dict[str, float])
    """Pattern → weight among the patterns of its length, instead of the template's own; 0 leaves it out."""

    widths: Mapping[int, float] = field(default_factory=dict[int, float])
    """Most calls that may run in parallel → factor of its patterns' weights; a width that isn't named gets nothing, all
    count alike where this is empty."""
    domains: Mapping[str, float] = field(default_factory=dict[str, float])
    """Family (hotel, flight, attraction, car, taxi, meta, cross) → factor of its patterns' weights; a family that isn't
    named gets nothing, all count alike where this is empty."""

    def shares(self, patterns: Sequence[Pattern], left_out: Collection[str] = ()) -> dict[str, float]:
        """Return pattern id → share of the rows; the shares sum to one.

        Args:
            patterns: those that can be filled.
            left_out: names of patterns that can't, so that naming one is no error.

        Raises:
            ConfigError: a pattern is unknown, a share is negative, or nothing is left.
        """
        known = [p.id for p in patterns]
        for name in self.patterns:
            if name not in known and name not in left_out:
                raise ConfigError(
                    "unknown pattern", where="synth.mix.patterns", got=name, nearest=nearest_name(name, known)
                )
        given = [*self.steps.values(), *self.patterns.values(), *self.domains.values(), *self.widths.values()]
        if any(share < 0 for share in given):
            raise ConfigError("a share is negative", where="synth.mix", got=(dict(self.steps), dict(self.patterns)))
        self._check_domains({p.domain for p in patterns})
        weights = {p.id: self.patterns.get(p.id, p.weight) * self._factor(p) for p in patterns}
        totals = _by_length((len(p.steps), weights[p.id]) for p in patterns)
        raw = {p.id: self._length_share(len(p.steps)) * weights[p.id] / (totals[len(p.steps)] or 1) for p in patterns}
        total = sum(raw.values())
        if total <= 0:
            raise ConfigError(
                "no pattern has a share",
                where="synth.mix",
                got=dict(self.steps),
                expected=f"lengths among {sorted(totals)}",
            )
        return {name: share / total for name, share in raw.items() if share > 0}

    def _check_domains(self, known: Collection[str]) -> None:
        for name in self.domains:
            if name not in known:
                near = nearest_name(name, known)
                raise ConfigError("unknown domain", where="synth.mix.domains", got=name, nearest=near)

    def _factor(self, pattern: Pattern) -> float:
        domain = self.domains.get(pattern.domain, 0.0) if self.domains else 1.0
        return domain * (self.widths.get(pattern.width, 0.0) if self.widths else 1.0)

    def _length_share(self, length: int) -> float:
        return self.steps.get(length, 0.0) if self.steps else 1.0


Name = TypeVar("Name", str, int)


def neediest(shares: Mapping[Name, float], made: Mapping[Name, int]) -> Name:
    """Return the name that lags most behind its share; the first in order on a tie. Shares need not sum to one."""
    total = (sum(made.get(name, 0) for name in shares) + 1) / (sum(shares.values()) or 1)
    return max(shares, key=lambda name: shares[name] * total - made.get(name, 0))


def by_length(shares: Mapping[str, float], lengths: Mapping[str, int]) -> dict[int, float]:
    """Return chain length → share, summed over its patterns."""
    return _by_length((lengths[name], share) for name, share in shares.items())


def _by_length(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
    totals: dict[int, float] = {}
    for length, weight in pairs:
        totals[length] = totals.get(length, 0.0) + weight
    return totals
