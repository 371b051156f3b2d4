"""Proof that this process has everything registered: verl hides a plugin that fails to load."""
from __future__ import annotations

from environment.core.errors import StageError


def check_registered() -> None:
    """Raise StageError naming every registration that is missing in this process."""
    import verl.experimental.agent_loop.agent_loop as loops
    from verl.plugin.platform import get_platform
    from verl.trainer.ppo.v1 import trainer_base, trainer_sync  # noqa: F401
    from verl.workers.engine.base import EngineRegistry

    engines = EngineRegistry._engines["language_model"]["fsdp2"]
    cpu = get_platform().device_name == "cpu"
    wanted = {
        "agent loop tool_rl_agent": "tool_rl_agent" in loops._agent_loop_registry,
        "trainer tool_rl": "tool_rl" in trainer_base.TRAINER_REGISTRY,
        "FSDP engine for cpu": not cpu or "cpu" in engines,
    }
    missing = [name for name, there in wanted.items() if not there]
    if missing:
        raise StageError(
            f"verl has not loaded our plugin; missing: {', '.join(missing)}",
            where="training.verl_plugin",
            expected="an installed entry point `verl.plugins`",
            fix="run scripts/setup.sh (it installs this project), and leave VERL_USE_EXTERNAL_PLUGINS unset",
        )
