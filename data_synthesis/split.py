"""Splitting by entity: a place named in a held-out request is named in no training request.

Names of one place go together: `Berlin` and `Berlin Brandenburg Airport`, or two names whose look-up finds the same
thing. A place is held out by its rank under a keyed hash, so the split depends on the seed and the names alone.
"""
from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from data_synthesis.index import WorldIndex, folded
from data_synthesis.paths import get, leaves
from data_synthesis.templates.model import NAMES, FromUser, Pattern
from environment.core.canonical import fold_text
from environment.core.errors import ConfigError


@dataclass(frozen=True)
class EntitySplit:
    """Which places may be named where."""

    train: frozenset[str]
    heldout: frozenset[str]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    """Folded name → one name for all names of its place."""

    def place_of(self, name: str) -> str:
        """Return what all names of one place have in common."""
        return self.groups.get(folded(name), folded(name))

    def in_train(self, place: str) -> bool:
        """Return whether a training request may name the place."""
        return folded(place) in self.train

    def in_heldout(self, place: str) -> bool:
        """Return whether a held-out request may name the place."""
        return folded(place) in self.heldout


def split_places(groups: Iterable[frozenset[str]], share: float, seed: int) -> EntitySplit:
    """Return the split of groups of folded names; `share` of the groups, at least one, is held out."""
    if not 0 <= share < 1:
        raise ConfigError(
            "the share of places held out is out of range",
            where="synth.heldout_share",
            got=share,
            expected="0 to below 1",
        )
    ranked = sorted(groups, key=lambda group: _rank(min(group), seed))
    held = max(round(share * len(ranked)), 1) if share and len(ranked) > 1 else 0
    one = {name: min(group) for group in ranked for name in group}
    return EntitySplit(frozenset[str]().union(*ranked[held:]), frozenset[str]().union(*ranked[:held]), one)


def place_groups(patterns: Iterable[Pattern], index: WorldIndex) -> list[frozenset[str]]:
    """Return the folded place names that requests may hold, grouped by place."""
    names = _names(patterns, index)
    parent = {name: name for name in names}

    def root(name: str) -> str:
        while parent[name] != name:
            name = parent[name]
        return name

    owner: dict[str, str] = {}
    for name, marks in sorted(names.items()):
        for mark in sorted({name, *marks}):
            first = owner.setdefault(mark, name)
            parent[root(name)] = root(first)
    grouped: dict[str, set[str]] = {}
    for name in names:
        grouped.setdefault(root(name), set()).add(name)
    return [frozenset(group) for _, group in sorted(grouped.items())]


def _names(patterns: Iterable[Pattern], index: WorldIndex) -> Mapping[str, set[str]]:
    """Return folded name → what its look-ups found first: the ids of the first hit."""
    names: dict[str, set[str]] = {}
    done: set[tuple[str, str]] = set()
    for pattern in patterns:
        for step, argument, source in pattern.sources():
            if (
                not isinstance(source, FromUser)
                or pattern.kinds[source.variable] not in NAMES
                or (step.calls, argument) in done
            ):
                continue
            done.add((step.calls, argument))
            for entry in index.step(step).all:
                if argument in entry.given:
                    names.setdefault(fold_text(str(entry.given[argument])), set()).update(
                        _first_hit(step.tool, entry.value, index)
                    )
    return names


def _first_hit(tool: str, value: object, index: WorldIndex) -> set[str]:
    """Return marks of the first item found: its ids and city, by tool so that equal numbers don't meet by chance."""
    marks: set[str] = set()
    for path, port in index.schemas[tool].gives.items():
        found = get(value, path.replace("[]", "[0]"))
        if isinstance(found, str | int | float) and (port.endswith("_id") or "cityname" in path.lower()):
            marks.add(fold_text(str(found)) if port == "place_name" else f"{port}={found}")
    marks.update(
        fold_text(str(v)) for path, v in leaves(get(value, "data[0]")) if path in ("cityName", "city", "city_name")
    )
    return marks


def _rank(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{name}".encode()).digest()
