"""run.sh: from any folder, with a broken python in the path, choosing the right package set."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # starts processes
LAUNCH = Path(__file__).resolve().parents[1]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a copy of the script in a checkout whose set-up and Python only write down how they were called."""
    root = tmp_path / "check out"
    (root / "training" / "launch").mkdir(parents=True)
    (root / "scripts").mkdir()
    shutil.copy(LAUNCH / "run.sh", root / "training" / "launch" / "run.sh")
    (root / "scripts" / "setup.sh").write_text(
        'root="$(cd "$(dirname "$0")/.." && pwd)"\nvenv="$root/.venv"\n'
        'case " $* " in *" --gpu "*) venv="$root/.venv-gpu" ;; esac\n'
        'case " $* " in *" --print-venv "*) echo "$venv"; exit 0 ;; esac\n'
        'mkdir -p "$venv/bin"\n'
        "for tool in python ray; do\n"
        'printf \'#!/bin/sh\\necho "%s $(basename "$0") $(pwd) $PYTHONPATH: $*"\\n\' "$venv" > "$venv/bin/$tool"\n'
        'chmod +x "$venv/bin/$tool"; done\n'
    )
    return root


def call(script: Path, *arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a script with a python that fails first in the path."""
    broken = cwd / "broken"
    broken.mkdir(exist_ok=True)
    for name in ("python", "python3"):
        (broken / name).write_text("#!/bin/sh\nexit 1\n")
        (broken / name).chmod(0o755)
    kept = {"PATH": f"{broken}:/usr/bin:/bin", "HOME": str(cwd), "CUDA_VISIBLE_DEVICES": ""}
    return subprocess.run(["bash", str(script), *arguments], cwd=cwd, env={**kept, **environ}, capture_output=True,
                          text=True, timeout=60)  # fmt: skip


def test_arguments_arrive_whole_from_any_folder(checkout: Path, tmp_path: Path) -> None:
    done = call(checkout / "training/launch/run.sh", "--dry-run", "trainer.project_name='a b'", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{checkout}/.venv python {tmp_path} {checkout}:" in done.stdout
    assert done.stdout.rstrip().endswith("-P -m scripts.cli run --dry-run trainer.project_name='a b'")


@pytest.mark.parametrize(
    ("arguments", "venv"),
    [
        ((), ".venv"), (("--profile", "cpu_smol"), ".venv"), (("--profile", "gpu_8x"), ".venv-gpu"),
        (("--profile=gpu",), ".venv-gpu"), (("profile=multinode",), ".venv-gpu"),
        (("--dry-run", "--profile", "gpu_8x"), ".venv"),
    ],
)  # fmt: skip
def test_packages_follow_the_profile(checkout: Path, tmp_path: Path, arguments: tuple[str, ...], venv: str) -> None:
    done = call(checkout / "training/launch/run.sh", *arguments, cwd=tmp_path)
    assert f"{checkout}/{venv} python" in done.stdout, done.stdout + done.stderr


def test_packages_follow_the_hardware_where_no_profile_is_named(checkout: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text("#!/bin/sh\necho NVIDIA H100\n")
    (tools / "nvidia-smi").chmod(0o755)
    path = f"{tools}:/usr/bin:/bin"
    found = call(checkout / "training/launch/run.sh", cwd=tmp_path, PATH=path, CUDA_VISIBLE_DEVICES="0")
    hidden = call(checkout / "training/launch/run.sh", cwd=tmp_path, PATH=path, CUDA_VISIBLE_DEVICES="")
    asked = call(checkout / "training/launch/run.sh", "--profile", "cpu_tiny", cwd=tmp_path, PATH=path,
                 CUDA_VISIBLE_DEVICES="0")  # fmt: skip
    assert ".venv-gpu python" in found.stdout
    assert "/.venv python" in hidden.stdout and "/.venv python" in asked.stdout


def test_a_failed_set_up_stops_the_run(checkout: Path, tmp_path: Path) -> None:
    (checkout / "scripts" / "setup.sh").write_text("echo 'setup: no network' >&2; exit 1\n")
    done = call(checkout / "training/launch/run.sh", cwd=tmp_path)
    assert done.returncode == 1 and "no network" in done.stderr and "scripts.cli" not in done.stdout


def test_help_needs_no_set_up(checkout: Path, tmp_path: Path) -> None:
    done = call(checkout / "training/launch/run.sh", "--help", cwd=tmp_path)
    assert done.returncode == 0 and "--dry-run" in done.stdout and not (checkout / ".venv").exists()


def test_the_script_is_sound_shell() -> None:
    assert os.access(LAUNCH / "run.sh", os.R_OK)
    subprocess.run(["bash", "-n", str(LAUNCH / "run.sh")], check=True, timeout=20)
