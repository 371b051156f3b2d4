"""Import what must stay light in a fresh interpreter, and look at what came along and how long it took.

Worlds, checkers, rewards, settings and `tool-rl --help` are used where no training stack is installed, and by people
who wait for a prompt. Time is counted as CPU seconds of the fresh process, best of a few, so that a busy machine does
not fail the check.
"""
from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.check.source import Violation

HEAVY = ("torch", "verl", "ray", "vllm", "transformers", "pandas", "numpy")
"""Packages that must not come along."""

SLIM = (
    "environment",
    "environment.core.trajectory",
    "BFCL",
    "BFCL.check",
    "training.reward",
    "training.launch.config",
    "scripts.cli.app",
)
"""What is imported; `scripts.cli.app` is also asked for its help."""

CPU_SECONDS = 0.5
TRIES = 3

_PROBE = """
import contextlib, importlib, importlib.util, io, json, resource, sys
name, heavy = sys.argv[1], sys.argv[2].split(",")
try:
    found = importlib.util.find_spec(name) is not None
except ModuleNotFoundError:
    found = False
if found:
    module = importlib.import_module(name)
    if hasattr(module, "main") and name == "scripts.cli.app":
        sys.argv = ["tool-rl", "--help"]
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            module.main()
usage = resource.getrusage(resource.RUSAGE_SELF)
came = [h for h in heavy if h in sys.modules]
json.dump({"found": found, "heavy": came, "cpu": usage.ru_utime + usage.ru_stime}, sys.stdout)
"""


def check_slim(root: Path) -> Iterator[Violation]:
    """Yield what is missing, heavy or slow among the modules that must stay light."""
    for name in SLIM:
        yield from _judge(name, root)


def probe(name: str, root: Path) -> dict[str, object]:
    """Import a module in a fresh interpreter; return what came along and how long it took, or its error."""
    command = [sys.executable, "-c", _PROBE, name, ",".join(HEAVY)]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if ended.returncode:
        return {"error": (ended.stderr.strip().splitlines() or [f"status {ended.returncode}"])[-1]}
    return json.loads(ended.stdout)


def _judge(name: str, root: Path) -> Iterator[Violation]:
    path = name.replace(".", "/")
    fastest = CPU_SECONDS
    for _ in range(TRIES):
        got = probe(name, root)
        if "error" in got:
            yield Violation(path, 0, "slim", f"import {name} fails: {got['error']}")
            return
        if not got["found"]:
            yield Violation(path, 0, "slim", f"{name} does not exist")
            return
        if got["heavy"]:
            yield Violation(path, 0, "slim", f"import {name} brings along {got['heavy']}")
            return
        fastest = float(str(got["cpu"]))
        if fastest <= CPU_SECONDS:
            return
    yield Violation(path, 0, "slim", f"import {name} takes {fastest:.2f} s of CPU (at most {CPU_SECONDS} s)")
