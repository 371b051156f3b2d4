"""Where two layers meet in a file: what one writes is what the other reads."""
from __future__ import annotations

import pytest

from evaluation.report.curves import PANELS
from training.verl_plugin.step_metrics import summarise

SHOWN = ("reward", "success", "turns", "call_valid", "kl", "entropy", "grad_norm", "tokens_per_s", "step_s")


@pytest.mark.parametrize("name", SHOWN)
def test_the_report_has_a_panel_for_what_the_trainer_writes(name: str) -> None:
    score = {"score": 1.0, "acc": 1.0, "void": 0.0}
    line = summarise([score], [{"turns": 1}], ["a"], {"actor/entropy": 0.5}, {"step": 1.0}, 1)
    assert name in line
    assert any(name in panel.keys for panel in PANELS)
