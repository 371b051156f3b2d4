"""The sft stage: verl's SFT trainer on the warm-start parquet, then the result as a Hugging Face folder."""
from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from training.launch import cpu_env
from training.launch.export import merge_checkpoint, newest_checkpoint
from training.launch.paths import RunPaths
from training.launch.ranks import run_ranks

SFT_CONFIG = "sft_trainer_engine"


def run_sft(config: DictConfig, run_dir: Path) -> Path:
    """Train the warm start and return its model folder. Continues from the last checkpoint."""
    paths = RunPaths(run_dir)
    ranks = int(config.trainer.n_gpus_per_node)
    if config.tool_rl.device == "cpu":
        cpu_env.set_defaults(cpu_env.cpu_environment(ranks))
        os.environ[cpu_env.TRAIN_LAYERS] = str(config.tool_rl.sft.train_layers)
    cpu_env.set_defaults(cpu_env.loopback_environment())
    checkpoints = run_dir / "checkpoints" / "sft"
    checkpoints.mkdir(parents=True, exist_ok=True)
    # Unless told, verl writes this file where the process stands.
    os.environ.setdefault("VERL_FILE_LOGGER_PATH", str(checkpoints / "sft_metrics.jsonl"))
    settings = sft_config(config, paths, checkpoints)
    if ranks == 1:
        _train_here(settings)
    else:
        _train_ranks(settings, run_dir / "checkpoints" / "sft.yaml", ranks)
    return merge_checkpoint(newest_checkpoint(checkpoints), paths.model, paths.sft_model)


def sft_config(config: DictConfig, paths: RunPaths, checkpoints: Path) -> DictConfig:
    """Return verl's SFT configuration with our settings in it."""
    ours, actor = config.tool_rl.sft, config.actor_rollout_ref.actor
    values: dict[str, Any] = {
        "data": {
            "train_files": [str(paths.parquet("sft", "train"))],
            "train_batch_size": ours.batch_size,
            "micro_batch_size_per_gpu": ours.micro_batch_size,
            "max_token_len_per_gpu": ours.micro_batch_size * ours.max_length,
            "max_length": ours.max_length,
            "use_dynamic_bsz": True,
            "num_workers": 0,
            "custom_cls": {"path": "pkg://training.verl_plugin.sft_data", "name": "SftRows"},
        },
        "model": {
            "path": str(paths.model),
            "use_remove_padding": config.actor_rollout_ref.model.use_remove_padding,
            "enable_gradient_checkpointing": config.actor_rollout_ref.model.enable_gradient_checkpointing,
            "override_config": config.actor_rollout_ref.model.override_config,
        },
        "engine": {
            "strategy": actor.strategy,
            "use_torch_compile": False,
            "seed": ours.seed,
            "wrap_policy": actor.fsdp_config.wrap_policy,
            "reshard_after_forward": actor.fsdp_config.reshard_after_forward,
            "use_no_sync_for_gradient_accumulation": actor.fsdp_config.use_no_sync_for_gradient_accumulation,
        },
        "optim": {"lr": ours.learning_rate, "lr_warmup_steps": ours.warmup_steps, "weight_decay": ours.weight_decay},
        "trainer": {
            "default_local_dir": str(checkpoints),
            "project_name": config.trainer.project_name,
            "experiment_name": f"{config.trainer.experiment_name}-sft",
            "total_epochs": 10_000,
            "total_training_steps": ours.steps,
            "logger": ["console", "file"],
            "seed": ours.seed,
            "save_freq": ours.save_freq,
            "max_ckpt_to_keep": 1,
            "device": config.tool_rl.device,
            "n_gpus_per_node": config.trainer.n_gpus_per_node,
        },
    }
    base = _verl_defaults()
    OmegaConf.set_struct(base, False)
    return OmegaConf.merge(base, values)  # type: ignore[return-value]


def _verl_defaults() -> DictConfig:
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    from training.launch.compose import verl_config_dir

    GlobalHydra.instance().clear()
    with initialize_config_dir(str(verl_config_dir()), version_base="1.3"):
        return compose(SFT_CONFIG)


def _train_here(settings: DictConfig) -> None:
    """Train in this process: one rank needs no launcher, and a second start-up costs seconds."""
    os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"})
    # verl's worker wants an address to exist; with the rendezvous below nothing ever listens or connects there.
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"})
    with tempfile.TemporaryDirectory(prefix="trl-") as folder:
        # A rendezvous over TCP would listen on every interface.
        os.environ["DIST_INIT_METHOD"] = f"file://{folder}/rendezvous?rank=0&world_size=1"
        from verl.trainer.sft_trainer import run_sft as train

        train(settings)


def _train_ranks(settings: DictConfig, file: Path, ranks: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(settings, file, resolve=True)
    command = [sys.executable, "-m", "verl.trainer.sft_trainer"]
    # Unless told, Hydra makes a folder `outputs` where the process stands.
    own = [f"hydra.run.dir='{file.parent}'", "hydra.output_subdir=null"]
    run_ranks([*command, f"--config-path={file.parent}", f"--config-name={file.stem}", *own], ranks, "sft")
