"""The rl stage: verl's `run_ppo` with its V1 task runner, on our configuration."""
from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict

from training.launch import cpu_env
from training.launch.paths import RunPaths
from training.tools.worlds import WORLD


def run_rl(config: DictConfig, run_dir: Path) -> None:
    """Train. Continues from the last checkpoint below the run directory.

    Ray's session, sockets and temporary files live in a fresh short-named folder, so that two runs on one machine never
    meet; it is removed at the end, whatever happens. With `RAY_ADDRESS` set, that cluster is used instead.
    """
    one_machine = "RAY_ADDRESS" not in os.environ and int(config.trainer.nnodes) == 1
    if config.tool_rl.device == "cpu":
        cpu_env.set_defaults(_cpu_variables(config))
        os.environ[cpu_env.TRAIN_LAYERS] = str(config.tool_rl.actor.train_layers)
    if one_machine:
        cpu_env.set_defaults(cpu_env.loopback_environment())
    os.environ[WORLD] = str(RunPaths(run_dir).world)
    session = Path(tempfile.mkdtemp(prefix="trl-", dir="/tmp"))
    if one_machine:
        # A rendezvous over TCP would listen on every interface.
        os.environ["DIST_INIT_METHOD"] = f"file://{session}/rendezvous"
    try:
        _train(_prepared(config, RunPaths(run_dir), session if one_machine else None))
    finally:
        _shut_down()
        shutil.rmtree(session, ignore_errors=True)


def _cpu_variables(config: DictConfig) -> dict[str, str]:
    """Return the environment of every process of a run without an accelerator."""
    variables = cpu_env.cpu_environment(int(config.trainer.n_gpus_per_node))
    return {**variables, cpu_env.TRAIN_LAYERS: str(config.tool_rl.actor.train_layers)}


def _prepared(config: DictConfig, paths: RunPaths, session: Path | None) -> DictConfig:
    """Return the configuration with what only this process knows: where the world and Ray's session lie."""
    copied: Any = OmegaConf.to_container(config, resolve=True)
    config = DictConfig(copied)
    with open_dict(config):
        config.tool_rl.world_path = str(paths.world_of(config.tool_rl.world.kind))
        config.tool_rl.run_dir = str(paths.root)
        if session is not None:
            config.ray_kwargs.ray_init.update(
                {"_temp_dir": str(session), "_node_ip_address": "127.0.0.1", "include_dashboard": False}
            )
        else:
            _tell_workers(config)
    return config


def _tell_workers(config: DictConfig) -> None:
    """Hand the variables of this run to Ray: workers of a running cluster inherit from its nodes, not from here."""
    names = [WORLD, *(_cpu_variables(config) if config.tool_rl.device == "cpu" else ())]
    ray_init = config.ray_kwargs.ray_init
    ours = {"runtime_env": {"env_vars": {name: os.environ[name] for name in names}}}
    config.ray_kwargs.ray_init = OmegaConf.merge(ours, ray_init)


def _train(config: DictConfig) -> None:
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    from training.verl_plugin.registered import check_registered

    check_registered()
    os.environ.setdefault("TENSORBOARD_DIR", str(Path(config.tool_rl.run_dir) / "tensorboard"))
    validate_config(
        config=config, use_reference_policy=need_reference_policy(config), use_critic=need_critic(config)
    )
    run_ppo(config, task_runner_class=TaskRunnerV1)


def _shut_down() -> None:
    import ray

    if ray.is_initialized():
        ray.shutdown()
