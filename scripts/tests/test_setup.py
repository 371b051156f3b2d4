"""scripts/setup.sh: what it says when something is wrong, and that a finished set-up is left alone."""
from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def setup(place: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TOOL_RL_VENV": str(place), **variables}
    command = ["bash", str(ROOT / "scripts" / "setup.sh"), *options]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)


def fake_python(path: Path, says: str) -> Path:
    """Write a command that answers like an interpreter whose verdict on itself is given."""
    path.write_text(f"#!/bin/sh\ncat >/dev/null\nprintf '%s' '{says}'\n")
    path.chmod(0o755)
    return path


def test_an_unknown_option_is_named_with_the_known_ones(tmp_path: Path) -> None:
    ended = setup(tmp_path / "venv", "--cuda")
    assert ended.returncode == 2
    assert "--cuda" in ended.stderr and "--gpu" in ended.stderr


@pytest.mark.parametrize(
    ("options", "name"), [((), ".venv"), (("--gpu",), ".venv-gpu"), (("--gpu", "--dev"), ".venv-gpu")]
)
def test_the_place_of_each_kind(options: tuple[str, ...], name: str) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TOOL_RL_VENV"}
    command = ["bash", str(ROOT / "scripts" / "setup.sh"), *options, "--print-venv"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == str(ROOT / name)


def test_a_named_python_that_is_not_there(tmp_path: Path) -> None:
    ended = setup(tmp_path / "venv", PYTHON=str(tmp_path / "no-python"))
    assert ended.returncode == 1
    assert "needs Python 3.11 or 3.12" in ended.stderr
    assert "no-python" in ended.stderr and "PYTHON=" in ended.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("says", "expected"),
    [
        ("is 3.9.2", "is 3.9.2"),
        ("is 3.11.2, but lacks its venv module", "lacks its venv module"),
    ],
)
def test_a_python_that_will_not_do_is_told_with_the_reason(tmp_path: Path, says: str, expected: str) -> None:
    ended = setup(tmp_path / "venv", PYTHON=str(fake_python(tmp_path / "python", says)))
    assert ended.returncode == 1
    assert expected in ended.stderr


def test_a_python_that_does_not_start(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    ended = setup(tmp_path / "venv", PYTHON=str(broken))
    assert ended.returncode == 1
    assert "does not start" in ended.stderr


def test_too_little_disk(tmp_path: Path) -> None:
    ended = setup(tmp_path / "venv", PYTHON=sys.executable, TOOL_RL_MIN_DISK_GB="99999999")
    assert ended.returncode == 1
    assert "99999999 GB" in ended.stderr and "TOOL_RL_VENV=" in ended.stderr
    assert not (tmp_path / "venv").exists()


def test_a_folder_that_is_no_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "thesis.txt").write_text("years of work")
    ended = setup(tmp_path / "venv", PYTHON=sys.executable)
    assert ended.returncode == 1
    assert "left alone" in ended.stderr
    assert (tmp_path / "venv" / "thesis.txt").read_text() == "years of work"


def test_a_finished_set_up_is_left_alone_at_once() -> None:
    place = Path(sys.prefix)
    if not (place / ".stamps" / "dev").exists():
        pytest.skip("these tests do not run in an environment made by scripts/setup.sh --dev")
    began = time.monotonic()
    ended = setup(place, "--dev", PIP_INDEX_URL="http://127.0.0.1:9/", PYTHON="/no/python/is/needed")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.strip() == f"setup: ready: {place}"
    assert time.monotonic() - began < 1


@pytest.mark.slow
def test_a_failed_download_is_one_message_and_the_next_call_goes_on(tmp_path: Path) -> None:
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
    nowhere |= {"PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    place = tmp_path / "venv"
    ended = setup(place, PYTHON=sys.executable, TOOL_RL_MIN_DISK_GB="0", **nowhere)
    assert ended.returncode == 1
    assert "could not install" in ended.stderr
    assert str(place / "setup.log") in ended.stderr and "same command again" in ended.stderr
    assert len(ended.stderr.splitlines()) < 10
    again = setup(place, PYTHON="/no/python/is/needed", TOOL_RL_MIN_DISK_GB="99999999", **nowhere)
    assert "making" not in again.stdout, "the environment was made the first time"


@pytest.mark.slow
def test_two_set_ups_at_once_take_turns(tmp_path: Path) -> None:
    place = tmp_path / "venv"
    holder = subprocess.Popen(["flock", f"{place}.lock", "sleep", "2"])
    try:
        while not Path(f"{place}.lock").exists():
            time.sleep(0.05)
        ended = setup(place, PYTHON=str(tmp_path / "no-python"))
    finally:
        holder.wait()
    assert "waiting for it" in ended.stdout
    assert "needs Python" in ended.stderr, "it went on after its turn came"
