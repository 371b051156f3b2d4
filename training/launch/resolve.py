"""From arguments and environment to one checked configuration, or one report of all problems."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from training.launch.checks import cross_check
from training.launch.compose import as_tree, compose_config
from training.launch.detect import Machine, choose_profile, detect_machine, has_module
from training.launch.knobs import Setting, from_environment
from training.launch.overrides import apply_values, check_values, split_settings
from training.launch.problems import ConfigReport, Problem
from training.launch.settings import ToolRl, read_settings

REPO_ROOT = Path(__file__).resolve().parents[2]
"""Where runs/ lies unless tool_rl.run_root says otherwise."""

ATTENTION_NOTICE = (
    "flash-attn is not installed: attention falls back to SDPA with padding. Every batch is padded to its longest"
    " row, so about (longest / mean length) times the compute and memory of the training passes is spent on padding."
    " Get it with: .venv/bin/pip install flash-attn --no-build-isolation"
)


@dataclass(frozen=True)
class Launch:
    """A configuration ready to plan or run."""

    config: DictConfig
    """verl's keys and ours, every interpolation resolved."""
    settings: ToolRl
    machine: Machine
    profile_reason: str
    sources: tuple[Setting, ...]
    """Every override, weakest first, with where it came from."""
    notices: tuple[str, ...]


def load_launch(
    arguments: Sequence[str] = (),
    *,
    profile: str | None = None,
    environ: Mapping[str, str] | None = None,
    machine: Machine | None = None,
) -> Launch:
    """Compose and check the configuration.

    Args:
        arguments: key=value overrides and group choices, as for Hydra.
        profile: the profile by name; None detects it, unless `arguments` name one.
        environ: the environment; None takes this process's.
        machine: the hardware; None looks.

    Raises:
        ConfigReport: with every problem found; nothing was started.
    """
    environ = os.environ if environ is None else environ
    machine = machine or detect_machine()
    given = [Setting(text, "argument") for text in arguments]
    knobs = from_environment(environ, {setting.key: setting.text.partition("=")[2] for setting in given})
    chosen, reason, problems = _profile(profile, given, machine, environ)
    sources = [chosen, *knobs, *(s for s in given if s.key != "profile")]
    groups, values, found = split_settings(sources)
    problems += found
    if problems and any(p.key in ("profile", "algorithm", "model", "task", "reward", "logging") for p in problems):
        raise ConfigReport(problems)
    base = compose_config(groups)
    notices = _fall_back(base)
    wrong = check_values(as_tree(base, resolve=False), values)
    problems += wrong
    bad = {problem.key for problem in wrong}
    config = compose_config(groups)
    problems += apply_values(config, [pair for pair in values if pair[1].key_or_group not in bad])
    touched = frozenset(parsed.key_or_group for _, parsed in values)
    _use_cluster(config, environ.get("RAY_ADDRESS"))
    settings, tree, more = _finish(config, touched)
    problems += [problem for problem in more if problem.key not in bad]
    problems += cross_check(tree, settings or _mended(tree, more, base))
    if problems or settings is None:
        raise ConfigReport(problems)
    return Launch(OmegaConf.create(tree), settings, machine, reason, tuple(sources), tuple(notices))


def _profile(
    name: str | None, given: Sequence[Setting], machine: Machine, environ: Mapping[str, str]
) -> tuple[Setting, str, list[Problem]]:
    named = [setting for setting in given if setting.key == "profile"]
    if name is None and not named:
        found, reason = choose_profile(machine, environ.get("RAY_ADDRESS"))
        return Setting(f"profile={found}", "detected"), reason, []
    last = named[-1].text.split("=", 1)[1] if named else name
    if name is not None and last != name:
        problem = Problem("profile", f"--profile {name} and profile={last} contradict each other", "one of them")
        return Setting(f"profile={name}", "--profile"), "asked for", [problem]
    return Setting(f"profile={last}", "argument" if named else "--profile"), "asked for", []


def _fall_back(config: DictConfig) -> list[str]:
    wants = config.tool_rl.device == "cuda" and config.actor_rollout_ref.model.use_remove_padding
    return [ATTENTION_NOTICE] if wants and not has_module("flash_attn") else []


def _use_cluster(config: DictConfig, address: str | None) -> None:
    """Let Ray join a running cluster; what a cluster has, its own nodes said when they started."""
    if address:
        OmegaConf.set_struct(config, False)
        config.ray_kwargs.ray_init.update({"address": address, "num_cpus": None, "num_gpus": None})


def _use_own_rows(config: DictConfig, touched: frozenset[str]) -> None:
    """Take the world out of the user's records, and the windows that the profile has for them."""
    ours = config.tool_rl
    if "tool_rl.world.kind" not in touched and ours.world.path is None:
        ours.world.kind = "import"
    for key, value in _leaves(OmegaConf.to_container(ours.records)):
        if key not in touched:
            OmegaConf.update(config, key, value)


def _leaves(tree: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield dotted keys and values of a tree of mappings."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _mended(tree: dict[str, object], problems: Sequence[Problem], base: DictConfig) -> ToolRl | None:
    """Return our keys with the wrong ones as the profile has them, so that later checks see the rest."""
    mended = OmegaConf.create(tree)
    for problem in problems:
        before = OmegaConf.select(base, problem.key, default=None, throw_on_resolution_failure=False)
        if before is not None:
            OmegaConf.update(mended, problem.key, before)
    return read_settings(as_tree(mended).get("tool_rl"))[0] if tree else None


def _finish(config: DictConfig, touched: frozenset[str]) -> tuple[ToolRl | None, dict[str, object], list[Problem]]:
    """Fill in what only code can know, resolve, and read our keys."""
    OmegaConf.set_struct(config, False)
    if _fall_back(config) and "actor_rollout_ref.model.use_remove_padding" not in touched:
        config.actor_rollout_ref.model.use_remove_padding = False
        OmegaConf.update(config, "actor_rollout_ref.model.override_config.attn_implementation", "sdpa")
    ours = config.tool_rl
    ours.run_root = str(Path(ours.run_root).expanduser().absolute()) if ours.run_root else str(REPO_ROOT / "runs")
    for section, name in ((ours.data, "train"), (ours.data, "heldout"), (ours.world, "path")):
        if section[name]:
            section[name] = str(Path(str(section[name])).expanduser().absolute())
    if ours.data.train:
        _use_own_rows(config, touched)
    if ours.start_model is None:
        ours.start_model = f"{ours.run_dir}/{'sft/hf' if ours.sft.enabled else 'model'}"
    try:
        tree = as_tree(config)
    except OmegaConfBaseException as error:
        return None, {}, [Problem("interpolation", str(error).splitlines()[0])]
    settings, problems = read_settings(tree["tool_rl"])
    return settings, tree, problems
