"""One stage's process and everything it starts: run, listen, and end all of it.

The child leads a session of its own, so that one signal reaches its whole group. Ray and vLLM move
some of their processes into other groups; those still carry the marker variable in their
environment, by which they are found and ended. A pipe from the runner tells the child when the
runner is gone, even by SIGKILL (see watchdog.py).
"""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from training.launch.redact import Redactor
from training.launch.watchdog import PIPE_VARIABLE

MARKER = "TOOL_RL_RUN_DIR"
"""Environment variable that marks every process of a run."""


class Child:
    """A running stage. Its output goes line by line to the log and to `lines`."""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str], run_dir: Path, log: Path) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._run_dir = run_dir
        self._redact = Redactor(environ)
        self._log = log.open("a", encoding="utf-8", errors="replace")
        listen, self._alive = os.pipe()
        environ = {**environ, MARKER: str(run_dir), PIPE_VARIABLE: str(listen), "PYTHONUNBUFFERED": "1"}
        try:
            self._process = subprocess.Popen(
                argv, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", start_new_session=True, pass_fds=(listen,),
            )  # fmt: skip
        except BaseException:
            os.close(self._alive)
            self._log.close()
            raise
        finally:
            os.close(listen)
        assert self._process.stdout is not None
        self._reader = threading.Thread(target=self._read, args=(self._process.stdout,), daemon=True)
        self._reader.start()

    def poll(self) -> int | None:
        """Return the exit status, or None while the stage runs."""
        return self._process.poll()

    def stop(self, signum: int, grace_s: float, hurry: Callable[[], bool] = lambda: False) -> None:
        """Forward the signal and wait, at most `grace_s` or until `hurry`; `close` kills what is left."""
        self._signal(signum)
        end = time.monotonic() + grace_s
        while self.poll() is None and time.monotonic() < end and not hurry():
            time.sleep(0.05)

    def close(self, grace_s: float = 2.0) -> None:
        """Leave nothing running: kill the group and all marked processes, then finish the log."""
        self._signal(signal.SIGKILL)
        self._process.wait()
        end_marked(self._run_dir, grace_s)
        os.close(self._alive)
        self._reader.join(timeout=5)
        if not self._reader.is_alive():
            self._log.close()

    def _signal(self, signum: int) -> None:
        try:
            os.killpg(self._process.pid, signum)
        except (ProcessLookupError, PermissionError):
            return

    def _read(self, stream: TextIO) -> None:
        for line in stream:
            clean = self._redact.text(line)
            self._log.write(clean)
            self._log.flush()
            self.lines.put(clean.rstrip("\n"))


def marked_processes(run_dir: Path) -> list[int]:
    """Return the processes that carry this run's marker in their environment, this one's own line left out."""
    wanted = f"{MARKER}={run_dir}".encode()
    own = _ancestors()
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            marked = wanted in (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if marked and int(entry.name) not in own:
            found.append(int(entry.name))
    return found


def end_marked(run_dir: Path, grace_s: float = 2.0) -> int:
    """End every process that carries this run's marker: ask, wait, kill. Returns how many there were."""
    first = marked_processes(run_dir)
    left = first
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for pid in left:
            _kill(pid, signum)
        end = time.monotonic() + grace_s
        while left and time.monotonic() < end:
            time.sleep(0.05)
            left = [pid for pid in marked_processes(run_dir) if not _is_zombie(pid)]
    return len(first)


def _kill(pid: int, signum: int) -> None:
    try:
        os.kill(pid, signum)
    except (ProcessLookupError, PermissionError):
        return


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"
    except (OSError, IndexError):
        return True


def _ancestors() -> set[int]:
    found: set[int] = set()
    pid = os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            break
    return found
