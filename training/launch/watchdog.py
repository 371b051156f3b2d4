"""The stage's side of the pipe to its runner: when the runner is gone, the stage goes too.

A runner killed by SIGKILL can't forward anything, and an orphaned stage would go on writing into
a run directory whose lock is free again.
"""

from __future__ import annotations

import os
import signal
import threading
import time

PIPE_VARIABLE = "TOOL_RL_RUNNER_PIPE"
"""Environment variable with the number of the pipe's reading end."""
GRACE_S = 10.0
"""Seconds between asking the group to end and killing it."""


def start_watchdog() -> bool:
    """Watch the runner in a thread; tell whether there is a runner to watch."""
    number = os.environ.pop(PIPE_VARIABLE, None)
    if number is None or os.getpgrp() != os.getpid():
        return False
    os.set_inheritable(int(number), False)
    threading.Thread(target=_watch, args=(int(number),), daemon=True, name="runner-watchdog").start()
    return True


def _watch(pipe: int) -> None:
    try:
        while os.read(pipe, 1):
            pass
    except OSError:
        return
    os.killpg(os.getpgrp(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os.killpg(os.getpgrp(), signal.SIGKILL)
