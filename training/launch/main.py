"""The commands behind `tool-rl run`, `plan` and the stage verbs."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from environment.core.errors import ConfigError
from training.launch.compose import as_tree
from training.launch.cpu_env import stage_environment
from training.launch.detect import detect_machine, free_disk
from training.launch.display import Display
from training.launch.files import write_json
from training.launch.knobs import KNOBS
from training.launch.paths import RunPaths
from training.launch.plan import make_plan
from training.launch.plan_text import render_plan
from training.launch.problems import ConfigReport
from training.launch.record import write_environment
from training.launch.redact import Redactor
from training.launch.resolve import Launch, load_launch
from training.launch.rundir import fresh_name, hold, read_config, settle_config
from training.launch.runner import Runner
from training.launch.settings import ToolRl, read_settings
from training.launch.stages import Stage, plan_stages
from training.launch.stamps import Stamps, stage_states
from training.launch.summary import table_lines
from training.launch.verl_check import VerlCheck


def run_command(
    arguments: Sequence[str], *, profile: str | None = None, fresh: bool = False, run_dir: Path | None = None
) -> None:
    """Do the main job, or what is left of it.

    Raises:
        ConfigReport: the configuration is wrong; nothing was started.
        StageError: a stage failed or the run was interrupted.
    """
    if fresh and run_dir is not None:
        raise ConfigError("--fresh and --run-dir contradict each other", where="tool-rl", expected="one of them")
    launch = _open(arguments, profile, run_dir)
    if fresh:
        launch = _fresh(launch, arguments, profile)
    paths = RunPaths(Path(launch.settings.run_dir))
    display = Display()
    stages = plan_stages(launch.settings, paths, launch.config.trainer.total_training_steps)
    with hold(paths):
        settle_config(paths, _saved(launch))
        stamps = Stamps(paths, _saved(launch))
        display.say(f"profile {launch.settings.profile} ({launch.profile_reason}); run {paths.root}", "bold")
        for notice in launch.notices:
            display.say(f"note: {notice}", "yellow")
        states = stage_states(stamps, stages)
        if all(state == "done" for state in states.values()):
            display.say("finished before; nothing to do. --fresh starts a new run beside it.", "green")
        else:
            _check_with_verl(launch, paths)
            _check_disk(launch, paths, states)
            write_environment(paths, launch)
            _runner(launch, paths, stamps, display, resume_command(launch)).run(stages)
        for line in table_lines(paths):
            display.say(line)
        display.say(f"report {paths.report}", "bold")


def plan_command(arguments: Sequence[str], *, profile: str | None = None, fresh: bool = False) -> None:
    """Print the plan. Starts nothing and writes nothing.

    Raises:
        ConfigReport: the configuration is wrong.
    """
    launch = load_launch(arguments, profile=profile)
    check = VerlCheck(launch.config)
    launch = _fresh(launch, arguments, profile) if fresh else launch
    plan = make_plan(launch, _saved(launch))
    verdict = check.result()
    Console(highlight=False, soft_wrap=True).print(render_plan(plan, verdict.words), markup=False)
    if verdict.problems:
        raise ConfigReport(verdict.problems, where="verl")


def stage_command(
    name: str, arguments: Sequence[str], *, profile: str | None = None, run_dir: Path | None = None
) -> None:
    """Make one stage of a run (`evaluate` means all policies); stages it needs must be done.

    Raises:
        ConfigError: a stage it needs is not done, or arguments contradict an existing run.
        StageError: the stage failed or was interrupted.
    """
    launch = _open(arguments, profile, run_dir)
    paths, tree = RunPaths(Path(launch.settings.run_dir)), _saved(launch)
    stages = plan_stages(launch.settings, paths, launch.config.trainer.total_training_steps)
    wanted = [stage for stage in stages if stage.name == name or stage.name.startswith(f"{name}-")]
    if not wanted:
        raise ConfigError(f"this run has no stage {name}", expected=", ".join(stage.name for stage in stages))
    with hold(paths):
        settle_config(paths, tree)
        write_environment(paths, launch)
        stamps = Stamps(paths, tree)
        _need_done(stamps, stages, wanted)
        if name == "report":
            stamps.forget(wanted[0])  # runs with other seeds may have ended since
        _runner(launch, paths, stamps, Display(), resume_command(launch, name)).run(wanted)


def _runner(launch: Launch, paths: RunPaths, stamps: Stamps, display: Display, resume: str) -> Runner:
    environ = stage_environment(launch.settings.device, os.environ)
    return Runner(paths, stamps, display, environ=environ, resume=resume)


def _open(arguments: Sequence[str], profile: str | None, run_dir: Path | None) -> Launch:
    """Return the launch that arguments ask for, or that of an existing run with its own configuration."""
    if run_dir is None:
        return load_launch(arguments, profile=profile)
    if arguments or profile:
        raise ConfigError(
            "--run-dir takes the configuration of that run",
            where="tool-rl",
            fix="leave out --profile and key=value arguments, or leave out --run-dir",
        )
    config, settings, paths = read_run(run_dir)
    return Launch(config, settings, detect_machine(), f"as {paths.config} says", (), ())


def read_run(run_dir: Path) -> tuple[DictConfig, ToolRl, RunPaths]:
    """Return the configuration, our settings and the paths of an existing run, wherever it lies now.

    Raises:
        ConfigError: there is no configuration, or it doesn't fit this version.
    """
    paths = RunPaths(run_dir.absolute())
    if read_config(paths) is None:
        raise ConfigError("no config.yaml there", where=str(run_dir), fix="tool-rl run makes one; see tool-rl plan")
    text = paths.config.read_text(encoding="utf-8")
    old = OmegaConf.select(OmegaConf.create(text), "tool_rl.run_dir")
    config = OmegaConf.create(text.replace(str(old), str(paths.root)))
    assert isinstance(config, DictConfig)
    config.tool_rl.run_root = str(paths.root.parent)
    settings, problems = read_settings(as_tree(config).get("tool_rl"))
    if settings is None:
        raise ConfigReport(problems, where=str(paths.config))
    return config, settings, paths


def resume_command(launch: Launch, verb: str = "run") -> str:
    """Return the command that continues this run."""
    if not launch.sources or verb != "run":
        return f"tool-rl {verb} --run-dir {shlex.quote(launch.settings.run_dir)}"
    knobs = [f"{s.source}={s.text.partition('=')[2]}" for s in launch.sources if s.source in KNOBS]
    given = [s for s in launch.sources if s.source == "argument"]
    words = [s.text for s in given if s.key not in ("trainer.experiment_name", "profile")]
    name = launch.config.trainer.experiment_name
    default = f"{launch.settings.profile}-seed{launch.settings.seed}"
    named = [f"EXPERIMENT_NAME={shlex.quote(name)}"] if name != default else []
    knobs = [knob for knob in knobs if not (named and knob.startswith("EXPERIMENT_NAME="))]
    command = ["bash training/launch/run.sh", "--profile", launch.settings.profile]
    return " ".join([*named, *knobs, *command, *map(shlex.quote, words)])


def _fresh(launch: Launch, arguments: Sequence[str], profile: str | None) -> Launch:
    """Return the same launch under the next free name."""
    name = fresh_name(Path(launch.settings.run_root), launch.config.trainer.experiment_name)
    return load_launch([*arguments, f"trainer.experiment_name={name}"], profile=profile)


def _saved(launch: Launch) -> dict[str, object]:
    tree = Redactor(os.environ).tree(as_tree(launch.config))
    assert isinstance(tree, dict)
    return tree


def _need_done(stamps: Stamps, stages: Sequence[Stage], wanted: Sequence[Stage]) -> None:
    states = stage_states(stamps, stages)
    names = {stage.name for stage in wanted}
    for stage in wanted:
        missing = [need for need in stage.needs if need not in names and states[need] != "done"]
        if missing:
            raise ConfigError(
                f"stage {stage.name} needs {', '.join(missing)} first",
                where="tool-rl",
                fix=f"tool-rl {missing[0].partition('-')[0]} with the same arguments, or tool-rl run",
            )


def _check_with_verl(launch: Launch, paths: RunPaths) -> None:
    """Ask verl's validator once in a run's life; the run's configuration never changes."""
    done = paths.stamp("verl-check")
    if done.exists():
        return
    verdict = VerlCheck(launch.config).result()
    if verdict.problems:
        raise ConfigReport(verdict.problems, where="verl")
    write_json(done, {"verl": verdict.words})


def _check_disk(launch: Launch, paths: RunPaths, states: Mapping[str, str]) -> None:
    if "done" in states.values():
        return
    need, free = sum(size for _, size in make_plan(launch, _saved(launch)).disk), free_disk(paths.root)
    if need > free:
        raise ConfigError(
            f"not enough free disk for {paths.root}",
            where="run",
            got=f"{free / 2**30:.1f} GiB free",
            expected=f"about {need / 2**30:.1f} GiB",
            fix="free some, or put runs elsewhere: tool_rl.run_root=/path",
        )
