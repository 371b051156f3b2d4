"""The sets of the shipped CPU profiles keep what the split promises: made as the main job makes them, then compared."""
from __future__ import annotations

import json
from pathlib import Path

import pytest

from data_synthesis.overlap.report import broken, overlaps
from environment.booking.schemas import load_schemas
from scripts.cli.data_work import synth, world
from training.launch.paths import RunPaths
from training.launch.tests.fakes import launch


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["cpu_tiny", "cpu_smol"])
def test_held_out_names_and_texts_are_in_no_training_row(profile: str, tmp_path: Path) -> None:
    found = launch(f"tool_rl.run_root={tmp_path}", profile=profile)
    paths = RunPaths(Path(found.settings.run_dir))
    world(paths, found.settings, found.config)
    synth(paths, found.settings, found.config)
    (shared,) = overlaps(paths.rows("train"), paths.rows("heldout"), (), load_schemas())
    assert (shared.rows_first, shared.rows_second) == (found.settings.synth.train, found.settings.synth.heldout)
    assert broken(shared, ["entity", "near"]) == []
    assert shared.measure("entity").first >= 20 and shared.measure("entity").second >= 4
    # What both sides may ask alike needs no place: currencies, languages.
    placed = [e.what for e in shared.measure("call").examples if "query" in e.what]
    assert placed == []
    card = json.loads((paths.data / "synth.card.json").read_text())
    assert card["overlaps"][0]["measures"]["entity"]["samples"] == 0
    assert sum(c["train"] for c in card["counts"]["By template"].values()) == found.settings.synth.train
