"""The guard: whatever ends, the whole group ends."""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FAMILY = "import subprocess, sys, time; p = subprocess.Popen(['sleep', '60']); print(p.pid, flush=True); time.sleep({})"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"


def alive(pid: int) -> bool:
    """Tell whether a process runs (a zombie doesn't)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int, within: float = 10.0) -> bool:
    """Wait for a process to go and tell whether it did."""
    deadline = time.monotonic() + within
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not alive(pid)


def guarded(code: str) -> subprocess.Popen[str]:
    """Start Python code under guard."""
    command = [sys.executable, "-m", "evaluation.guard", sys.executable, "-c", code]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, start_new_session=True)


def first_line(process: subprocess.Popen[str]) -> str:
    """Return the first line a process prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@pytest.mark.parametrize("status", [0, 3])
def test_the_status_of_the_command_is_passed_on(status: int) -> None:
    assert guarded(f"raise SystemExit({status})").wait(20) == status


def test_a_child_left_behind_ends_with_the_command() -> None:
    process = guarded(FAMILY.format(0))
    child = int(first_line(process))
    process.wait(20)
    assert gone(child)


def test_asked_to_end_it_ends_the_family() -> None:
    process = guarded(FAMILY.format(60))
    child = int(first_line(process))
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) in (143, -signal.SIGKILL)
    assert gone(child)


@pytest.mark.slow
def test_what_ignores_sigterm_is_killed() -> None:
    process = guarded(STUBBORN)
    first_line(process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == -signal.SIGKILL


def test_when_the_parent_is_killed_nothing_stays() -> None:
    outer = f"""
import subprocess, sys, time
command = [sys.executable, "-m", "evaluation.guard", sys.executable, "-c", {FAMILY.format(60)!r}]
guard = subprocess.Popen(command, start_new_session=True)
print(guard.pid, flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", outer], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    found = [int(first_line(parent)), int(first_line(parent))]
    assert all(map(alive, found))
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    assert all(map(gone, found))
