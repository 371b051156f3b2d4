"""The stages that need a model: prepare, warm up, train, export, evaluate, report.

torch, verl and vLLM are imported inside, by the stage that needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from omegaconf import DictConfig

from environment.core.errors import StageError
from scripts.cli.data_work import schema_file
from scripts.cli.progress import announcer, say
from training.launch.files import write_json
from training.launch.paths import RunPaths
from training.launch.settings import ToolRl


def model(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Make RUN/model: a built-in model is written there, a folder or hub model is linked."""
    del config
    from training.model.prepare import prepare_model

    if paths.model.is_symlink():
        paths.model.unlink()
    found = prepare_model(settings.model.source, paths.model)
    if found == paths.model:
        return
    folder = found if found.is_dir() else _download(str(found))
    paths.model.symlink_to(folder.absolute(), target_is_directory=True)
    say(model=str(folder))


def sft(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Train the warm start and leave its model in RUN/sft/hf."""
    del settings
    from training.launch.sft import run_sft

    run_sft(config, paths.root)


def rl(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Train by reinforcement, continuing from the last checkpoint."""
    del settings
    from training.launch.rl import run_rl

    run_rl(config, paths.root)


def export(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Write RUN/hf."""
    del settings, config
    from training.launch.export import export_hf

    export_hf(paths.root)


def evaluate_base(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Evaluate the model before any training."""
    _evaluate("base", paths, settings, config)


def evaluate_sft(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Evaluate the model after the warm start."""
    _evaluate("sft", paths, settings, config)


def evaluate_rl(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Evaluate the model after RL."""
    _evaluate("rl", paths, settings, config)


def report(paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    """Write summary.json, seeds.json where runs with other seeds stand beside this one, and report.html."""
    del config
    from evaluation.compare import gather_seeds
    from evaluation.report.page import build_report
    from training.launch.siblings import runs_of_other_seeds
    from training.launch.summary import write_summary

    write_summary(paths, settings)
    family = runs_of_other_seeds(paths)
    if len(family) > 1:
        write_json(paths.root / "seeds.json", {"runs": gather_seeds(family)})
    say(report=str(build_report(paths.root, paths.report)))


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]))
    except Exception as error:
        raise StageError(
            f"could not fetch {name}",
            where="model",
            got=f"{type(error).__name__}: {error}",
            fix="check the network, or name a local folder with MODEL_PATH",
        ) from error


def _evaluate(policy: str, paths: RunPaths, settings: ToolRl, config: DictConfig) -> None:
    from environment.session.limits import Limits
    from evaluation.heldout import HeldoutSettings, run
    from evaluation.serve import ServeSettings

    wanted, rollout = settings.evaluate, config.actor_rollout_ref.rollout
    limits = settings.limits.model_dump()
    turn_tokens = limits.pop("turn_tokens") or limits["max_tokens"]
    serve = ServeSettings(
        device="cpu" if settings.device == "cpu" else "gpu",
        max_model_len=int(rollout.max_model_len),
        max_num_seqs=wanted.concurrency,
        tensor_parallel=1 if settings.device == "cpu" else int(rollout.tensor_model_parallel_size),
    )
    heldout = HeldoutSettings(
        name=policy, rows=paths.parquet("rl", "heldout"), world=paths.world_of(settings.world.kind),
        out=paths.evaluation(policy).parent,
        model=paths.policy_model(policy), schemas=schema_file(settings), limits=Limits(**limits),
        samples=wanted.samples,
        temperature=wanted.temperature, top_p=float(rollout.top_p), max_turn_tokens=turn_tokens, seed=wanted.seed,
        limit=wanted.rows, concurrency=wanted.concurrency, instructions=settings.task.instructions, serve=serve,
        serve_log=paths.log(f"serve-{policy}"),
    )  # fmt: skip
    if settings.device == "cpu":
        from training.launch import cpu_env

        cpu_env.set_defaults(cpu_env.cpu_environment())
    run(heldout, reward=_reward(settings), progress=announcer("episodes"))


def _reward(settings: ToolRl) -> Callable[..., Any]:
    from training.reward.registry import reward

    return reward(settings.reward.kind, settings.reward.weights)
