from __future__ import annotations

from pathlib import Path

import pytest

from environment.booking.seed_world import SeedWorld
from environment.booking.tests.conftest import SMALL
from environment.cache.build import build_seed_cache


@pytest.fixture(scope="session")
def seed_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "seed 3%.db"  # a name that a URI has to quote
    build_seed_cache(path, 3, SMALL)
    return path


@pytest.fixture(scope="session")
def simulated() -> SeedWorld:
    return SeedWorld(3, SMALL)
