"""The command line: quick help, an example for every verb, errors without tracebacks, plans within their time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scripts.cli.app import app
from scripts.cli.work import WORK
from training.launch.paths import RunPaths
from training.launch.stages import plan_stages
from training.launch.tests.fakes import tiny

pytestmark = pytest.mark.slow  # starts processes
REPO = Path(__file__).resolve().parents[3]
VERBS = (
    "run", "plan", "world", "tools", "check", "serve", "score", "validate", "synth", "preprocess", "model", "sft", "rl",
    "export", "evaluate", "report", "view", "eval", "compare", "convert",
)  # fmt: skip


def tool_rl(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own, knobs of the surroundings left out."""
    kept = {name: text for name, text in os.environ.items() if name in ("PATH", "HOME", "TMPDIR", "LANG")}
    return subprocess.run(
        [sys.executable, "-P", "-m", "scripts.cli", *arguments],
        env={**kept, "PYTHONPATH": str(REPO), **environ}, capture_output=True, text=True, timeout=110,
    )  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(verb: str) -> None:
    result = CliRunner().invoke(app, [verb, "--help"])
    assert result.exit_code == 0
    assert "Example: " in result.output and f"tool-rl {verb}" in result.output


def test_help_is_quick_and_slim() -> None:
    code = (
        "import sys, time; began = time.process_time(); sys.argv = ['tool-rl', '--help']\n"
        "from scripts.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = ('torch', 'verl', 'ray', 'vllm', 'transformers', 'hydra', 'pydantic', 'pyarrow')\n"
        "print('FACTS', time.process_time() - began, [m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=REPO, capture_output=True, text=True, timeout=60, check=True
    )
    facts = done.stdout.splitlines()[-1].split(maxsplit=2)
    assert facts[2] == "[]" and float(facts[1]) < 0.5
    assert all(verb in done.stdout for verb in VERBS)


def test_every_stage_has_its_work() -> None:
    stages = plan_stages(tiny().settings, RunPaths(Path("/x")))
    assert {stage.name for stage in stages} == set(WORK)


def test_all_mistakes_end_with_status_2_and_no_traceback(tmp_path: Path) -> None:
    done = tool_rl("run", "--dry-run", "--profile", "cpu_tiny", "data.train_batch_sze=3", LEARNING_RATE="abc")
    assert done.returncode == 2
    assert "data.train_batch_size" in done.stderr and "LEARNING_RATE" in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_a_plan_ends_in_time_and_leaves_nothing(tmp_path: Path) -> None:
    began = time.monotonic()
    done = tool_rl("plan", "--profile", "gpu_8x", f"tool_rl.run_root={tmp_path}")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 30  # 15 s on a machine that is not busy with other tests
    assert "256 trajectories" in done.stdout and list(tmp_path.iterdir()) == []


def test_a_stage_before_its_time_says_which_comes_first(tmp_path: Path) -> None:
    done = tool_rl("synth", "--profile", "cpu_tiny", f"tool_rl.run_root={tmp_path}")
    assert done.returncode == 2
    assert "needs world, model first" in done.stderr and "tool-rl world" in done.stderr


def test_an_existing_run_and_settings_contradict(tmp_path: Path) -> None:
    assert tool_rl("report", "--run-dir", str(tmp_path), "--profile", "cpu_tiny").returncode == 2
    done = tool_rl("report", "--run-dir", str(tmp_path))
    assert done.returncode == 2 and "config.yaml" in done.stderr


def test_the_world_stage_really_builds_a_world_and_is_not_repeated(tmp_path: Path) -> None:
    settings = (
        "--profile",
        "cpu_tiny",
        f"tool_rl.run_root={tmp_path}",
        "tool_rl.world.size={cities:2,dates:1,hotels:1}",
    )
    first, second = tool_rl("world", *settings), tool_rl("world", *settings)
    paths = RunPaths(tmp_path / "cpu_tiny-seed1")
    third = tool_rl("world", "--run-dir", str(tmp_path / "cpu_tiny-seed1"))
    assert first.returncode == second.returncode == third.returncode == 0, first.stderr + second.stderr + third.stderr
    assert "done before" in third.stdout
    assert paths.world.is_file() and paths.environment.is_file() and "done before" in second.stdout
    assert paths.log("world").read_text().count("---") == 1
