"""The work of each stage, called in the stage's own process.

This is where the layers meet: training never imports data_synthesis or evaluation, so the wiring
between them stands here, one function a stage. Each takes the run's paths, our settings and the
whole configuration, and leaves the outputs that `training.launch.stages` names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from omegaconf import DictConfig

from environment.core.errors import ConfigError
from environment.core.signals import leave_in_order_on_sigterm
from scripts.cli import data_work, model_work
from training.launch.main import read_run
from training.launch.paths import RunPaths
from training.launch.settings import ToolRl
from training.launch.watchdog import start_watchdog

Work = Callable[[RunPaths, ToolRl, DictConfig], None]
"""One stage's work."""

WORK: dict[str, Work] = {
    "world": data_work.world,
    "model": model_work.model,
    "synth": data_work.synth,
    "preprocess": data_work.preprocess,
    "sft": model_work.sft,
    "rl": model_work.rl,
    "export": model_work.export,
    "evaluate-base": model_work.evaluate_base,
    "evaluate-sft": model_work.evaluate_sft,
    "evaluate-rl": model_work.evaluate_rl,
    "report": model_work.report,
}
"""Stage name to its work."""


def work(name: str, run_dir: Path) -> None:
    """Do one stage in this process.

    Raises:
        ConfigError: the run directory holds no configuration, or there is no such stage.
    """
    start_watchdog()
    leave_in_order_on_sigterm()
    config, settings, paths = read_run(run_dir)
    if name not in WORK:
        raise ConfigError("no such stage", got=name, expected=", ".join(WORK))
    WORK[name](paths, settings, config)
