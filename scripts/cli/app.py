"""The verbs of `tool-rl`.

Every verb takes Hydra's key=value arguments. A stage verb makes its own stage of a run and leaves a
stamp, exactly as `run` would. Errors raised on purpose end as a message on stderr with their own
exit status; only a defect shows a traceback.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from environment.core.errors import ToolRlError
from scripts.cli.check import check_app
from scripts.cli.convert import convert
from scripts.cli.eval import compare, eval_
from scripts.cli.report import build_page, split_runs
from scripts.cli.score import score
from scripts.cli.serve import serve
from scripts.cli.sets import overlap, prepare
from scripts.cli.templates import templates_app
from scripts.cli.tools import tools_app
from scripts.cli.validate import validate
from scripts.cli.view import view
from scripts.cli.world import STAGE, world_app

Overrides = Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Settings, as for Hydra.")]
Profile = Annotated[str | None, typer.Option(help="cpu_tiny, cpu_smol, gpu, gpu_8x or multinode.")]
RunDir = Annotated[Path | None, typer.Option(help="An existing run directory; its configuration is used.")]
Worker = Annotated[bool, typer.Option(hidden=True, help="Do the work in this process; the runner sets it.")]

app = typer.Typer(
    name="tool-rl",
    help="Train language models to use tools over many steps.\n\nExample: tool-rl run --profile cpu_smol",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command()
def run(
    overrides: Overrides = None,
    profile: Profile = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start a new run directory; nothing is deleted.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the plan and stop.")] = False,
    run_dir: RunDir = None,
) -> None:
    """Do the main job: world, rows, warm start, RL, evaluation, report.

    Example: tool-rl run --profile cpu_smol tool_rl.seed=2
    """
    from training.launch.main import plan_command, run_command

    if dry_run:
        plan_command(overrides or [], profile=profile, fresh=fresh)
    else:
        run_command(overrides or [], profile=profile, fresh=fresh, run_dir=run_dir)


@app.command()
def plan(overrides: Overrides = None, profile: Profile = None) -> None:
    """Check the configuration and print what a run would do; start nothing.

    Example: tool-rl plan --profile gpu_8x trainer.nnodes=2
    """
    from training.launch.main import plan_command

    plan_command(overrides or [], profile=profile)


app.add_typer(world_app, name="world")
app.add_typer(tools_app, name="tools")
app.add_typer(check_app, name="check")
app.add_typer(templates_app, name="templates")
app.command()(serve)
app.command()(score)
app.command()(validate)
app.command("eval")(eval_)
app.command()(compare)
app.command()(convert)
app.command()(prepare)
app.command()(overlap)
app.command()(view)


@world_app.command(STAGE, hidden=True)
def world(overrides: Overrides = None, profile: Profile = None, run_dir: RunDir = None, worker: Worker = False) -> None:
    """Build the world's cache, or import it from your rows' stored responses.

    Example: tool-rl world --profile cpu_tiny
    """
    _stage("world", overrides, profile, run_dir, worker)


@app.command()
def synth(
    overrides: Overrides = None,
    profile: Profile = None,
    run_dir: RunDir = None,
    writer: Annotated[str, typer.Option(help="offline, or llm: a model words the queries.")] = "offline",
    llm: Annotated[str | None, typer.Option("--model", help="Name of the wording model.")] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its OpenAI-compatible address.")] = None,
    worker: Worker = False,
) -> None:
    """Write training and held-out rows from the world.

    Example: tool-rl synth --run-dir runs/cpu_tiny-seed1

    Example: tool-rl synth --profile cpu_smol --writer llm --model qwen3-32b --base-url http://127.0.0.1:8000/v1
    """
    from scripts.cli.sets import writer_overrides

    _stage("synth", [*(overrides or []), *writer_overrides(writer, llm, base_url)], profile, run_dir, worker)


@app.command()
def preprocess(
    overrides: Overrides = None, profile: Profile = None, run_dir: RunDir = None, worker: Worker = False
) -> None:
    """Turn rows into the parquet files that SFT and RL read.

    Example: TRAIN_DATA_PATH=rows.pkl tool-rl preprocess --profile cpu_smol
    """
    _stage("preprocess", overrides, profile, run_dir, worker)


@app.command()
def model(overrides: Overrides = None, profile: Profile = None, run_dir: RunDir = None, worker: Worker = False) -> None:
    """Prepare the model to start from as a Hugging Face folder.

    Example: MODEL_PATH=Qwen/Qwen3-0.6B tool-rl model --profile gpu
    """
    _stage("model", overrides, profile, run_dir, worker)


@app.command()
def sft(overrides: Overrides = None, profile: Profile = None, run_dir: RunDir = None, worker: Worker = False) -> None:
    """Warm the model up on solved rows.

    Example: tool-rl sft --run-dir runs/cpu_smol-seed1
    """
    _stage("sft", overrides, profile, run_dir, worker)


@app.command()
def rl(overrides: Overrides = None, profile: Profile = None, run_dir: RunDir = None, worker: Worker = False) -> None:
    """Train by reinforcement over several turns against the cached world.

    Example: tool-rl rl --run-dir runs/cpu_smol-seed1
    """
    _stage("rl", overrides, profile, run_dir, worker)


@app.command()
def export(
    overrides: Overrides = None, profile: Profile = None, run_dir: RunDir = None, worker: Worker = False
) -> None:
    """Write the trained model as a Hugging Face folder.

    Example: tool-rl export --run-dir runs/cpu_smol-seed1
    """
    _stage("export", overrides, profile, run_dir, worker)


@app.command()
def evaluate(
    overrides: Overrides = None,
    profile: Profile = None,
    run_dir: RunDir = None,
    policy: Annotated[str, typer.Option(help="base, sft, rl or all.")] = "all",
    worker: Worker = False,
) -> None:
    """Measure a model on the held-out rows: greedy, and sampled several times.

    Example: tool-rl evaluate --run-dir runs/cpu_smol-seed1 --policy rl
    """
    _stage("evaluate" if policy == "all" else f"evaluate-{policy}", overrides, profile, run_dir, worker)


@app.command()
def report(
    arguments: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]... or [KEY=VALUE]...", help="Run folders, or settings.")
    ] = None,
    profile: Profile = None,
    run_dir: RunDir = None,
    out: Annotated[Path | None, typer.Option(help="The page to write; with RUN only.")] = None,
    worker: Worker = False,
) -> None:
    """Write the page for people: of one run, or of several side by side.

    With --run-dir it is the last stage of that run, which also gathers its figures (summary.json).

    Example: tool-rl report runs/cpu_smol-seed1 runs/cpu_smol-seed2 --out seeds.html

    Example: tool-rl report --run-dir runs/cpu_smol-seed1
    """
    runs, overrides = split_runs(arguments or [])
    if runs or out is not None:
        build_page(runs, out, overrides, named=profile is not None or run_dir is not None)
    else:
        _stage("report", overrides, profile, run_dir, worker)


def _stage(name: str, overrides: list[str] | None, profile: str | None, run_dir: Path | None, worker: bool) -> None:
    if worker and run_dir is not None:
        from scripts.cli.work import work

        work(name, run_dir)
        return
    from training.launch.main import stage_command

    stage_command(name, overrides or [], profile=profile, run_dir=run_dir)


def main() -> None:
    """Run the command line; the entry point of `tool-rl`."""
    try:
        app()
    except ToolRlError as error:
        typer.echo(str(error), err=True)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        typer.echo("stopped; nothing is lost", err=True)
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(141)
