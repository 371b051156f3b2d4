from __future__ import annotations

import pytest

from environment.booking.seed_world import SeedWorld, WorldSize

SMALL = WorldSize(cities=6, hotels=4, attractions=4, cars=3, destinations=2, dates=4)


@pytest.fixture(scope="session")
def world() -> SeedWorld:
    return SeedWorld(3, SMALL)
