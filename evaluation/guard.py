"""Run a command so that it can't outlive whoever asked for it: `python -m evaluation.guard COMMAND...`.

The guard leads a process group with the command in it. It ends the whole group when the command ends, when it gets
SIGTERM or SIGINT, or when its parent is gone (killed, even by SIGKILL): first SIGTERM, SIGKILL after a few seconds.
Stdlib only.
"""
from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

POLL_S = 0.25
GRACE_S = 5.0
"""Seconds between SIGTERM and SIGKILL."""


def main(command: Sequence[str]) -> int:
    """Run `command` under guard and return its exit status, or 143 when it was ended."""
    parent = os.getppid()
    asked: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: asked.append(got))
    child = subprocess.Popen(command)
    while child.poll() is None and not asked and os.getppid() == parent:
        time.sleep(POLL_S)
    status = child.poll()
    _end_group(child)
    return 143 if status is None else status


def _end_group(child: subprocess.Popen[bytes]) -> None:
    """End every other member of the group, then whatever is left of it, this process included."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.killpg(os.getpgid(0), signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    if child.poll() is None or _others():
        os.killpg(os.getpgid(0), signal.SIGKILL)


def _others(wait_s: float = 1.0) -> bool:
    """Tell whether the group has other living members after a moment to leave."""
    deadline = time.monotonic() + wait_s
    while _members() and time.monotonic() < deadline:
        time.sleep(0.05)
    return bool(_members())


def _members() -> list[int]:
    group, found = os.getpgid(0), list[int]()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, _parent, owner = stat.read().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(owner) == group and state != "Z" and int(name) != os.getpid():
            found.append(int(name))
    return found


if __name__ == "__main__":
    if os.getpgid(0) != os.getpid():
        os.setsid()
    sys.exit(main(sys.argv[1:]))
