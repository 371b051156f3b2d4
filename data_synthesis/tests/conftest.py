"""A small recorded world for the tests, built once, and where the reference data lie."""
from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from data_synthesis.index import WorldIndex, seen_through
from data_synthesis.templates.load import load_patterns, load_set
from data_synthesis.templates.model import Pattern
from data_synthesis.trial import SIGHT, record_trial_world
from environment.booking.schemas import load_schemas
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.session.observation import ObservationCut

SMALL = WorldSize(cities=12, hotels=4, attractions=3, cars=3, destinations=6, dates=3)


@pytest.fixture(scope="session")
def world_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "small.world"
    build_seed_cache(path, seed=5, size=SMALL)
    return path


@pytest.fixture(scope="session")
def world(world_path: Path) -> Iterator[CachedWorld]:
    with CachedWorld.open(world_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def cut() -> ObservationCut:
    return ObservationCut(limit_chars=260)


@pytest.fixture(scope="session")
def index(world: CachedWorld, cut: ObservationCut) -> WorldIndex:
    return WorldIndex(world, seen_through(cut))


@pytest.fixture(scope="session")
def long_patterns() -> tuple[Pattern, ...]:
    """The call patterns that set `all` adds."""
    schemas = load_schemas()
    short = {pattern.id for pattern in load_patterns(schemas)}
    return tuple(pattern for pattern in load_set(schemas, "all") if pattern.id not in short)


@pytest.fixture(scope="session")
def long_index(long_patterns: tuple[Pattern, ...], tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorldIndex]:
    """A linked world in which they were walked."""
    path = tmp_path_factory.mktemp("world") / "long.world"
    record_trial_world(path, long_patterns, walks=2)
    with CachedWorld.open(path) as opened:
        yield WorldIndex(opened, seen_through(ObservationCut(limit_chars=SIGHT)))


@pytest.fixture(scope="session")
def reference() -> Path:
    folder = Path(os.environ.get("TOOL_RL_SHARED") or Path(__file__).parents[2].parent / "shared") / "data"
    if not (folder / "bfcl_training_3_per_workflow.jsonl").is_file():
        pytest.skip(f"reference data not there: {folder}")
    return folder
