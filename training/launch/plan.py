"""What a run would do, worked out without starting anything: stages, devices, batches, tokens, disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from training.launch.detect import free_disk
from training.launch.paths import RunPaths
from training.launch.resolve import Launch
from training.launch.rundir import compare, read_config
from training.launch.settings import ToolRl
from training.launch.stages import left_out, plan_stages
from training.launch.stamps import Stamps, State, stage_states

GIB = 2**30
PER_WEIGHT = {"model": 2, "sft": 2, "sft checkpoint": 12, "rl checkpoint": 12, "export": 2}
"""Bytes a weight takes: bf16 folders 2; a checkpoint holds fp32 weights and two Adam moments."""
ROWS_BYTES = 40_000
"""Bytes a synthesised row takes in all its forms, about."""


@dataclass(frozen=True)
class StagePlan:
    """One stage as the plan shows it."""

    name: str
    does: str
    state: State
    device: str


@dataclass(frozen=True)
class Plan:
    """Everything a dry run tells."""

    profile: str
    reason: str
    run_dir: str
    hardware: str
    stages: tuple[StagePlan, ...]
    skipped: Mapping[str, str]
    roles: tuple[tuple[str, str], ...]
    batches: tuple[tuple[str, str], ...]
    tokens: tuple[tuple[str, str], ...]
    disk: tuple[tuple[str, int], ...]
    disk_free: int
    settings: tuple[tuple[str, str], ...]
    """Each setting that isn't the profile's own, and where it came from."""
    notices: tuple[str, ...]


def make_plan(launch: Launch, tree: Mapping[str, object]) -> Plan:
    """Return the plan. Reads the run directory, writes nothing."""
    settings, paths = launch.settings, RunPaths(Path(launch.settings.run_dir))
    stages = plan_stages(settings, paths)
    states = stage_states(Stamps(paths, tree), stages)
    machine = launch.machine
    gpus = f"{len(machine.gpus)} GPU(s): {', '.join(sorted(set(machine.gpus)))}" if machine.gpus else "no GPU"
    return Plan(
        profile=settings.profile,
        reason=launch.profile_reason,
        run_dir=settings.run_dir,
        hardware=f"{machine.cores} CPU cores, {machine.memory_gib:.0f} GiB memory, {gpus}",
        stages=tuple(StagePlan(s.name, s.does, states[s.name], _device(s.name, launch)) for s in stages),
        skipped=left_out(settings),
        roles=_roles(launch),
        batches=_batches(launch),
        tokens=_tokens(launch),
        disk=_disk(launch),
        disk_free=free_disk(paths.root),
        settings=tuple((s.text, s.source) for s in launch.sources),
        notices=(*launch.notices, *_warnings(launch, paths, tree)),
    )


def _device(stage: str, launch: Launch) -> str:
    if not stage.startswith(("sft", "rl", "evaluate")):
        return "cpu"
    if launch.settings.device == "cpu":
        return "cpu"
    trainer = launch.config.trainer
    count = trainer.n_gpus_per_node * (trainer.nnodes if stage == "rl" else 1)
    return f"{count} GPU{'s' if count > 1 else ''}"


def _roles(launch: Launch) -> tuple[tuple[str, str], ...]:
    trainer, rollout = launch.config.trainer, launch.config.actor_rollout_ref.rollout
    ranks = trainer.nnodes * trainer.n_gpus_per_node
    unit = "GPU" if launch.settings.device == "cuda" else "CPU process"
    spread = f"{trainer.nnodes} node(s) x {trainer.n_gpus_per_node}"
    split = rollout.tensor_model_parallel_size
    shared = "the same ones as the actor, in turns" if launch.config.actor_rollout_ref.hybrid_engine else "their own"
    rows = [
        ("actor", f"{ranks} {unit}(s) ({spread}), {launch.config.actor_rollout_ref.actor.strategy} over all"),
        ("rollout", f"{ranks // split} vLLM replica(s) of {split} {unit}(s), {shared}"),
    ]
    uses_reference = launch.config.actor_rollout_ref.actor.use_kl_loss or launch.config.algorithm.use_kl_in_reward
    rows.append(("reference", "with the actor" if uses_reference else "none: no KL term"))
    rows.append(("critic", "none: advantages are relative to the group"))
    rows.append(("agent loops", f"{rollout.agent.num_workers} worker(s) on CPU"))
    return tuple(rows)


def _passes(trajectories: int, micro: int, rollouts: int, settings: ToolRl) -> str:
    """Say how many trajectories a rank takes through an update, and how."""
    if settings.device != "cpu":
        return f"{trajectories} trajectories an update, {micro} at once: {-(-trajectories // micro)} passes"
    keep = settings.actor.keep_per_group
    kept = f"the {keep} widest of each {rollouts} of " if keep else ""
    return f"{kept}{trajectories} trajectories an update, laid end to end"


def _advantages(launch: Launch) -> str:
    """Say which estimator, what is added to it, and what the entropies cost."""
    ours, algorithm = launch.settings.advantage, launch.config.algorithm
    egpo = f"EGPO (lambda {ours.egpo.lam:g}, alpha {ours.egpo.alpha:g}, entropy of {ours.egpo.scope})"
    added = {egpo: ours.egpo.enabled, "credit by turn": ours.turn_credit.enabled, "re-centred": ours.recentre}
    parts = [str(algorithm.adv_estimator), *(name for name, on in added.items() if on)]
    skipped = bool(algorithm.rollout_correction.get("bypass_mode", False))
    cost = "; one more forward pass for the entropies" if ours.egpo.enabled and skipped else ""
    return ", ".join(parts) + cost


def _batches(launch: Launch) -> tuple[tuple[str, str], ...]:
    data, actor, trainer = launch.config.data, launch.config.actor_rollout_ref.actor, launch.config.trainer
    rollouts = launch.config.actor_rollout_ref.rollout.n
    ranks = trainer.nnodes * trainer.n_gpus_per_node
    total, mini = data.train_batch_size * rollouts, actor.ppo_mini_batch_size * rollouts
    steps, micro = trainer.total_training_steps, actor.ppo_micro_batch_size_per_gpu
    kl = f"{actor.kl_loss_coef:g} {actor.kl_loss_type}" if actor.use_kl_loss else "none"
    sft = launch.settings.sft
    rows = [
        ("a step", f"{data.train_batch_size} prompts x {rollouts} rollouts = {total} trajectories"),
        ("updates a step", f"{total // mini * actor.ppo_epochs} of {mini} trajectories"),
        ("a rank", _passes(mini // ranks, micro, rollouts, launch.settings)),
        ("in all", f"{steps} steps, {steps * total} trajectories, {steps * data.train_batch_size} prompts drawn"),
        ("optimiser", f"learning rate {actor.optim.lr:g}, KL {kl}"),
        ("advantages", _advantages(launch)),
        ("checkpoints", f"every {trainer.save_freq} steps, {trainer.max_actor_ckpt_to_keep or 'all'} kept"),
    ]
    if sft.enabled:
        warm = f"{sft.steps} steps x {sft.batch_size} dialogues, learning rate {sft.learning_rate:g}"
        rows.insert(0, ("warm start", warm))
    return tuple(rows)


def _tokens(launch: Launch) -> tuple[tuple[str, str], ...]:
    data, rollout, limits = launch.config.data, launch.config.actor_rollout_ref.rollout, launch.settings.limits
    prompt, response = data.max_prompt_length, data.max_response_length
    total = launch.config.data.train_batch_size * rollout.n
    most = f"at most {total * (prompt + response):,} tokens, {total * response:,} of them generated or observed"
    sampled = launch.settings.evaluate.temperature
    return (
        ("window", f"{prompt} prompt + {response} response = {prompt + response} (vLLM holds {rollout.max_model_len})"),
        ("a turn", f"{limits.max_turns} turns at most, {response // limits.max_turns} tokens each on average"),
        ("a tool reply", f"{limits.observation_tokens} tokens at most, cut by whole items"),
        ("a step", most),
        ("temperature", f"{rollout.temperature:g} in training; evaluation greedy and {sampled:g}"),
    )


def _disk(launch: Launch) -> tuple[tuple[str, int], ...]:
    settings, trainer = launch.settings, launch.config.trainer
    weights = settings.model.parameters
    kept = (trainer.max_actor_ckpt_to_keep or -(-trainer.total_training_steps // max(trainer.save_freq, 1))) + 1
    rows = [("rows and world", (settings.synth.train + settings.synth.heldout) * ROWS_BYTES)]
    rows.append(("prepared model", weights * PER_WEIGHT["model"]))
    if settings.sft.enabled:
        rows.append(("warm start", weights * (PER_WEIGHT["sft"] + PER_WEIGHT["sft checkpoint"])))
    rows.append((f"RL checkpoints ({kept} at once)", kept * weights * PER_WEIGHT["rl checkpoint"]))
    rows.append(("export", weights * PER_WEIGHT["export"]))
    return tuple(rows)


def _warnings(launch: Launch, paths: RunPaths, tree: Mapping[str, object]) -> list[str]:
    found: list[str] = []
    kept = read_config(paths)
    differences = compare(kept, tree, paths.root) if kept is not None else []
    if differences:
        keys = ", ".join(key for key, _, _ in differences[:5])
        found.append(f"{paths.root} was begun with another configuration ({keys}); a run would refuse")
    trainer = launch.config.trainer
    if launch.settings.device == "cuda" and len(launch.machine.gpus) < trainer.n_gpus_per_node:
        asked = f"the profile asks for {trainer.n_gpus_per_node} a node: the plan holds elsewhere"
        found.append(f"this machine has {len(launch.machine.gpus)} GPU(s), {asked}")
    if trainer.nnodes > 1:
        address = launch.config.ray_kwargs.ray_init.get("address")
        cluster = f"a Ray cluster (RAY_ADDRESS, now {address!r})"
        found.append(f"{trainer.nnodes} nodes need {cluster}; see scripts/slurm/README.md")
    return found
