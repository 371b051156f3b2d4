"""verl's own validator, in a process of its own that is not waited for too long.

It needs torch and takes some seconds to import, so it runs beside the rest of the plan; where verl
can't be imported, or the machine is too busy, the plan says so and goes on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from training.launch.problems import Problem

PATIENCE_S = 9.0
"""Seconds after which the answer is no longer waited for; the plan must end within 15."""

PROGRAM = """
import sys
from omegaconf import OmegaConf
config = OmegaConf.load(sys.argv[1])
try:
    from verl.utils.config import validate_config
except Exception as error:
    print(f"TOOL_RL absent {type(error).__name__}: {error}".replace(chr(10), " "))
    sys.exit(0)
reference = bool(config.actor_rollout_ref.actor.use_kl_loss or config.algorithm.use_kl_in_reward)
try:
    validate_config(config, use_reference_policy=reference, use_critic=False)
except Exception as error:
    print(f"TOOL_RL wrong {type(error).__name__}: {error}".replace(chr(10), " "))
    sys.exit(0)
print("TOOL_RL fine")
"""


@dataclass(frozen=True)
class Verdict:
    """What verl's validator said."""

    words: str
    problems: Sequence[Problem] = ()


class VerlCheck:
    """Starts verl's validator at once; `result` waits for it."""

    def __init__(self, config: DictConfig, *, patience_s: float = PATIENCE_S, program: str = PROGRAM) -> None:
        self._end = time.monotonic() + patience_s
        self._folder = tempfile.TemporaryDirectory(prefix="tool-rl-check-")
        place = Path(self._folder.name) / "config.yaml"
        OmegaConf.save(config, place)
        quiet = {"VERL_USE_EXTERNAL_PLUGINS": "none", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", program, str(place)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, text=True, env={**os.environ, **quiet},
        )  # fmt: skip

    def result(self) -> Verdict:
        """Return the verdict, or that there is none in time."""
        try:
            output, _ = self._process.communicate(timeout=max(0.1, self._end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
            return Verdict("verl's validator: no answer in time (machine busy); it is asked again before training")
        finally:
            self._folder.cleanup()
        return _verdict([line for line in output.splitlines() if line.startswith("TOOL_RL ")])


def _verdict(lines: Sequence[str]) -> Verdict:
    if not lines:
        return Verdict("verl's validator: ended without an answer")
    kind, _, text = lines[-1].removeprefix("TOOL_RL ").partition(" ")
    if kind == "fine":
        return Verdict("verl's validator: fine")
    if kind == "absent":
        return Verdict(f"verl's validator: can't be imported here ({text[:120]})")
    return Verdict("verl's validator: refuses", [Problem("verl", text)])
