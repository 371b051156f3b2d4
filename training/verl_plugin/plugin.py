"""Entry point `verl.plugins`: imported by verl in every process it starts (driver, Ray workers, vLLM servers).

The platform is registered at once, since verl asks for it first. Everything else is registered the moment verl itself
imports the module it belongs to: the trainer costs seconds of imports that a vLLM server process never needs.
verl logs a plugin that fails to load at debug level only; `training.verl_plugin.registered` is the launcher's proof.
"""
from __future__ import annotations

import os
from types import ModuleType

import wrapt

from training.verl_plugin import patches

ENGINES = "verl.workers.engine.fsdp.transformer_impl"
TRAINERS = "verl.trainer.ppo.v1.trainer_sync"
LOOPS = "verl.experimental.agent_loop.agent_loop"


def _engines(_module: ModuleType) -> None:
    from training.verl_plugin import engine  # noqa: F401  (registers on import)


def _trainers(_module: ModuleType) -> None:
    from training.verl_plugin import trainer  # noqa: F401  (registers on import)


def _loops(module: ModuleType) -> None:
    module._agent_loop_registry["tool_rl_agent"] = {"_target_": "training.rollout.loop.ToolRlAgentLoop"}


def _register() -> None:
    if os.environ.get("VERL_PLATFORM") == "cpu":
        from training.verl_plugin import platform  # noqa: F401  (registers on import)

        patches.apply_verl()
    wrapt.register_post_import_hook(_engines, ENGINES)
    wrapt.register_post_import_hook(_trainers, TRAINERS)
    wrapt.register_post_import_hook(_loops, LOOPS)


_register()
