"""The default set's rows, pinned: what was learnt from them must stay comparable."""
from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from data_synthesis.mix import Mix
from data_synthesis.synth import SynthConfig, synthesise
from data_synthesis.writer import WriterConfig
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache

PLAIN = WriterConfig(iso_share=1.0, words_share=0.0, nights_share=0.0)
FAMILIES = {"hotel": 1.0, "flight": 1.0, "attraction": 1.0, "meta": 1.0, "cross": 1.0}
SETTINGS = {
    "cpu_tiny": (SynthConfig(mix=Mix({1: 0.5, 2: 0.5}, domains={"hotel": 1, "flight": 1}), writer=PLAIN), 70),
    "cpu_smol": (SynthConfig(mix=Mix({1: 0.4, 2: 0.6}, domains=FAMILIES), writer=PLAIN), 80),
    "default": (SynthConfig(), 120),
}
PINNED = {"cpu_tiny": "2cd555c37022a178", "cpu_smol": "54027bd862516f7e", "default": "3816803cdae38454"}
"""Digest of the rows by the mix and wording of a profile; a change here is a change of the data."""


@pytest.fixture(scope="module")
def tiny_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world") / "pinned.world"
    build_seed_cache(path, 7, WorldSize(cities=8, hotels=4, attractions=3, cars=2, destinations=2, dates=3))
    return path


@pytest.mark.parametrize(("name", "pinned"), PINNED.items())
def test_the_first_rows_are_as_they_were(tiny_world: Path, tmp_path: Path, name: str, pinned: str) -> None:
    config, sight = SETTINGS[name]
    synthesise(tiny_world, None, tmp_path, 24, 4, 1, config=config, observation_tokens=sight)
    written = (tmp_path / "train.jsonl").read_bytes() + (tmp_path / "heldout.jsonl").read_bytes()
    assert hashlib.sha256(written).hexdigest()[:16] == pinned
