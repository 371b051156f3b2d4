"""Several processes of one training on this machine, without a launcher whose store listens on every interface."""
from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence

from environment.core.errors import StageError

POLL_S = 0.2
GRACE_S = 10.0
"""Seconds the other ranks get to end by themselves once one has failed."""


def run_ranks(command: Sequence[str], ranks: int, where: str) -> None:
    """Run `command` once a rank, each with torch's rank variables and a rendezvous in a file; wait for all.

    Raises:
        StageError: a rank ended with another status than 0. The rest are ended first, so that none waits for ever.
    """
    with tempfile.TemporaryDirectory(prefix="trl-") as folder:
        running = [subprocess.Popen(command, env=_environment(rank, ranks, folder)) for rank in range(ranks)]
        try:
            failed = _first_failure(running)
        finally:
            _end(running)
    if failed is not None:
        rank, status = failed
        raise StageError(
            f"rank {rank} of {ranks} failed", where=where, got=f"exit status {status}", fix="read the log"
        )


def _environment(rank: int, ranks: int, folder: str) -> dict[str, str]:
    own = {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(ranks),
        "LOCAL_WORLD_SIZE": str(ranks),
        # Libraries want an address to exist; with the rendezvous in a file nothing listens or connects there.
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
        "DIST_INIT_METHOD": f"file://{folder}/rendezvous?rank={rank}&world_size={ranks}",
    }
    return {**os.environ, **own}


def _first_failure(running: Sequence[subprocess.Popen[bytes]]) -> tuple[int, int] | None:
    """Wait until all have ended well, or one has not: return that one's rank and status."""
    while True:
        states = [process.poll() for process in running]
        for rank, status in enumerate(states):
            if status:
                return rank, status
        if None not in states:
            return None
        time.sleep(POLL_S)


def _end(running: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in running:
        if process.poll() is None:
            process.terminate()
    deadline = time.monotonic() + GRACE_S
    for process in running:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
