"""The stages of the main job: what each needs, what it reads of the configuration, what it leaves behind.

    world ─► model ─► synth ─► preprocess ─► sft ─► rl ─► export ─► evaluate ─► report

The model comes before the rows: its tokenizer says what of a tool reply the model will see.

A stage is a value; the runner runs it, the stamps remember it, the plan prints it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from training.launch.paths import RunPaths
from training.launch.settings import ToolRl

RL_KEYS = (
    "data", "actor_rollout_ref", "algorithm", "critic", "reward", "tool_rl.limits", "tool_rl.reward", "tool_rl.task",
    "tool_rl.actor", "tool_rl.advantage", "tool_rl.rollout.retries",
    "trainer.total_training_steps", "trainer.total_epochs", "trainer.nnodes", "trainer.n_gpus_per_node",
    "trainer.device", "trainer.v1", "tool_rl.seed",
)  # fmt: skip
"""Configuration that changes what RL does."""


SYNTH_KEYS = ("tool_rl.synth", "tool_rl.task", "tool_rl.limits.observation_tokens")


@dataclass(frozen=True)
class Stage:
    """One step of the main job, run as a process of its own."""

    name: str
    does: str
    """One line for people."""
    verb: tuple[str, ...]
    """Arguments of `tool-rl` that do it."""
    needs: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """Dotted configuration keys whose values are part of its stamp."""
    inputs: tuple[Path, ...] = ()
    """Files from outside the run."""
    outputs: tuple[Path, ...] = ()
    """What must be there, unchanged, for the stage to count as done."""
    curve: Path | None = None
    """A growing JSON-lines file with `step`, by which progress is followed."""
    steps: int = 0
    """The last step of the curve."""
    partial: tuple[Path, ...] = ()
    """What an interrupted try leaves and a later try with equal inputs continues from."""


def plan_stages(settings: ToolRl, paths: RunPaths, steps: int = 0) -> tuple[Stage, ...]:
    """Return the stages this configuration has, in the order they run.

    Args:
        settings: our keys.
        paths: the run.
        steps: RL steps in all, to show progress by.
    """
    stages = [_world(settings, paths), _model(settings, paths), *_synth(settings, paths), _preprocess(settings, paths)]
    stages += [*_sft(settings, paths), _rl(settings, paths, steps), _export(paths)]
    stages += [_evaluate(policy, settings, paths) for policy in _policies(settings)]
    return (*stages, _report(stages, paths))


def left_out(settings: ToolRl) -> dict[str, str]:
    """Return the stages this configuration does without, and why."""
    reasons: dict[str, str] = {}
    if settings.data.train:
        reasons["synth"] = "your own rows are used (tool_rl.data.train)"
    if not settings.sft.enabled:
        reasons["sft"] = "off (tool_rl.sft.enabled=false): RL starts from the model as it is"
    return reasons


def _policies(settings: ToolRl) -> list[str]:
    return [policy for policy in settings.evaluate.policies if policy != "sft" or settings.sft.enabled]


def _data_files(settings: ToolRl) -> tuple[Path, ...]:
    return tuple(Path(name) for name in (settings.data.train, settings.data.heldout) if name)


def _world(settings: ToolRl, paths: RunPaths) -> Stage:
    does = {
        "seed": "record the simulated world",
        "import": "import the rows' stored responses as the world",
        "file": f"take the recorded world {settings.world.path}",
        "http": f"ask the server {settings.world.url} which world it has",
    }[settings.world.kind]
    inputs = _data_files(settings) if settings.world.kind == "import" else ()
    inputs += (Path(settings.world.path),) if settings.world.path else ()
    keys = ("tool_rl.world", "tool_rl.task")
    if settings.synth.templates != "default":  # what long templates lead to is recorded too
        keys += ("tool_rl.synth.templates", "tool_rl.synth.seed")
        inputs += _template_files(settings)
    outputs = (paths.world_of(settings.world.kind),)
    return Stage("world", does, ("world",), keys=keys, inputs=inputs, outputs=outputs)


def _template_files(settings: ToolRl) -> tuple[Path, ...]:
    """Return the user's own templates; the sets that ship are no inputs."""
    path = Path(settings.synth.templates)
    return tuple(sorted(path.glob("*.yaml"))) if path.is_dir() else (path,) if path.is_file() else ()


def _synth(settings: ToolRl, paths: RunPaths) -> list[Stage]:
    if settings.data.train:
        return []
    outputs = tuple(paths.rows(split, ending) for split in ("train", "heldout") for ending in ("jsonl", "pkl"))
    does = f"write {settings.synth.train} training and {settings.synth.heldout} held-out rows"
    own = _template_files(settings)
    return [Stage("synth", does, ("synth",), ("world", "model"), SYNTH_KEYS, inputs=own, outputs=outputs)]


def _model(settings: ToolRl, paths: RunPaths) -> Stage:
    does = f"prepare {settings.model.source} as a Hugging Face folder"
    return Stage("model", does, ("model",), keys=("tool_rl.model", "tool_rl.seed"), outputs=(paths.model,))


def _preprocess(settings: ToolRl, paths: RunPaths) -> Stage:
    needs = ("world", "model") if settings.data.train else ("world", "synth", "model")
    keys = ("tool_rl.preprocess", "tool_rl.task", "tool_rl.limits.observation_tokens", "data.max_prompt_length",
            "data.train_batch_size", "tool_rl.sft.max_length")  # fmt: skip
    outputs = tuple(paths.parquet("rl", split) for split in ("train", "heldout"))
    outputs += (paths.parquet("sft", "train"),) if settings.sft.enabled else ()
    does = "rows to RL and SFT parquet"
    return Stage("preprocess", does, ("preprocess",), needs, keys, _data_files(settings), outputs)


def _sft(settings: ToolRl, paths: RunPaths) -> list[Stage]:
    if not settings.sft.enabled:
        return []
    does = f"supervised warm start, {settings.sft.steps} steps of {settings.sft.batch_size}"
    keys = ("tool_rl.sft", "tool_rl.device", "actor_rollout_ref.model")
    folder = paths.root / "checkpoints" / "sft"
    return [
        Stage(
            "sft",
            does,
            ("sft",),
            ("model", "preprocess"),
            keys,
            outputs=(paths.sft_model,),
            curve=folder / "sft_metrics.jsonl",
            steps=settings.sft.steps,
            partial=(folder,),
        )
    ]


def _rl(settings: ToolRl, paths: RunPaths, steps: int) -> Stage:
    needs = ("world", "preprocess", "sft") if settings.sft.enabled else ("world", "preprocess", "model")
    return Stage(
        "rl",
        "GRPO over several turns against the cached world",
        ("rl",),
        needs,
        RL_KEYS,
        outputs=(paths.metrics, paths.checkpoints),
        curve=paths.metrics,
        steps=steps,
        partial=(paths.checkpoints, paths.metrics, paths.rollouts),
    )


def _export(paths: RunPaths) -> Stage:
    does = "write the trained model as a Hugging Face folder"
    return Stage("export", does, ("export",), ("rl",), outputs=(paths.hf,))


def _evaluate(policy: str, settings: ToolRl, paths: RunPaths) -> Stage:
    model_stage = {"base": "model", "sft": "sft", "rl": "export"}[policy]
    does = f"{policy}: {settings.evaluate.rows} held-out rows, greedy and avg@{settings.evaluate.samples}"
    keys = ("tool_rl.evaluate", "tool_rl.limits", "tool_rl.reward", "tool_rl.task", "tool_rl.device")
    return Stage(
        f"evaluate-{policy}",
        does,
        ("evaluate", "--policy", policy),
        ("world", "preprocess", model_stage),
        keys,
        outputs=(paths.evaluation(policy),),
    )


def _report(stages: list[Stage], paths: RunPaths) -> Stage:
    return Stage(
        "report",
        "figures and the page for people",
        ("report",),
        tuple(stage.name for stage in stages),
        outputs=(paths.summary, paths.report),
    )
