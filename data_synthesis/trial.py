"""Trying patterns out: do they give rows in a simulated world, and why not where they don't.

A small world is recorded with what the patterns lead to; then each is drawn, said and checked a number of times.
"""
from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from data_synthesis.checks import CheckConfig, Reason, query_problems
from data_synthesis.index import WorldIndex, seen_through
from data_synthesis.prune import prune
from data_synthesis.rehearse import Rehearsal
from data_synthesis.search import Chain, Infeasible, draw, narrow
from data_synthesis.split import place_groups, split_places
from data_synthesis.templates.model import Pattern
from data_synthesis.writer import write
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.session.observation import ObservationCut

SIZE = WorldSize(cities=14, hotels=6, attractions=4, cars=4, destinations=2, dates=2)
"""Of the world patterns are tried in."""
SIGHT = 1600
"""Characters of an answer that the model sees there."""


@dataclass
class Trial:
    """What became of one pattern."""

    pattern: str
    tried: int = 0
    accepted: int = 0
    rejected: Counter[str] = field(default_factory=Counter[str])
    why: str = ""
    """The first reason in full; empty where every try was accepted."""
    example: str = ""
    """The last accepted request."""


def record_trial_world(path: Path, patterns: Sequence[Pattern], walks: int = 6, seed: int = 0) -> None:
    """Record the world that patterns are tried in."""
    build_seed_cache(path, seed, SIZE, linked=True, more=Rehearsal(patterns, walks, seed=seed).calls)


def try_patterns(patterns: Sequence[Pattern], tries: int = 20, seed: int = 0) -> list[Trial]:
    """Return a trial of each pattern in a world made for them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trial.world"
        record_trial_world(path, patterns, seed=seed)
        with CachedWorld.open(path) as world:
            index = WorldIndex(world, seen_through(ObservationCut(limit_chars=SIGHT)))
            return trials(patterns, index, tries, seed)


def trials(patterns: Sequence[Pattern], index: WorldIndex, tries: int, seed: int = 0) -> list[Trial]:
    """Return a trial of each pattern in a recorded world."""
    place_of = split_places(place_groups(patterns, index), 0.0, seed).place_of
    done: list[Trial] = []
    for pattern in patterns:
        trial = Trial(pattern.id)
        done.append(trial)
        narrowed = narrow(pattern, index)
        if isinstance(narrowed, Infeasible):
            trial.why = str(narrowed)
            continue
        domains = prune(narrowed, index)
        if isinstance(domains, Infeasible):
            trial.why = str(domains)
            continue
        for number in range(tries):
            rng = random.Random(f"{seed}/trial/{pattern.id}/{number}")
            _once(trial, draw(narrowed, index, rng, place_of=place_of, domains=domains), rng, index)
    return done


def _once(trial: Trial, chain: Chain | Infeasible, rng: random.Random, index: WorldIndex) -> None:
    trial.tried += 1
    if isinstance(chain, Infeasible):
        trial.rejected[Reason.NO_CHAIN] += 1
        trial.why = trial.why or str(chain)
        return
    text = write(chain, rng)
    found = query_problems(chain, text, index.schemas, CheckConfig())
    if found:
        trial.rejected[found[0].reason] += 1
        trial.why = trial.why or f"{found[0].reason}: {found[0].detail}: {text}"
    else:
        trial.accepted += 1
        trial.example = text
