"""Stand-ins for tests: machines, configurations of the tiny profile, and stages made of one line of shell."""

from __future__ import annotations

import functools
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from training.launch.compose import as_tree
from training.launch.detect import Machine
from training.launch.display import Display
from training.launch.paths import RunPaths
from training.launch.resolve import Launch, load_launch
from training.launch.runner import Runner
from training.launch.stages import Stage
from training.launch.stamps import Stamps

BARE = Machine(cores=2, memory_gib=24.0, gpus=())
"""A machine without a GPU."""
EIGHT = Machine(cores=96, memory_gib=1000.0, gpus=("NVIDIA H100",) * 8)
"""The reference's machine."""
PROFILES = ("cpu_tiny", "cpu_smol", "gpu", "gpu_8x", "multinode")


def launch(*arguments: str, profile: str = "cpu_tiny", environ: Mapping[str, str] | None = None) -> Launch:
    """Return a launch on a bare machine with an empty environment."""
    return load_launch(arguments, profile=profile, environ=environ or {}, machine=BARE)


@functools.cache
def tiny() -> Launch:
    """Return the launch of the tiny profile, made once; nobody may change it."""
    return launch()


def value(found: Launch, key: str) -> object:
    """Return one configuration value by its dotted key."""
    node: object = as_tree(found.config)
    for part in key.split("."):
        assert isinstance(node, dict), key
        node = node[part]
    return node


class FakeJob:
    """A run directory whose stages are shell commands; each appends its name to `ran`."""

    def __init__(self, root: Path, scripts: Mapping[str, str], tree: Mapping[str, object] | None = None) -> None:
        self.paths = RunPaths(root)
        self.scripts = dict(scripts)
        self.tree: Mapping[str, object] = dict(tree or {})
        self.output = io.StringIO()
        root.mkdir(parents=True, exist_ok=True)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Return a chain of stages, each needing the one before and reading the key of its own name."""
        names = list(self.scripts)
        return tuple(
            Stage(name, f"does {name}", (name,), tuple(names[max(0, at - 1) : at]), (name,),
                  outputs=(self.paths.root / f"{name}.out",), partial=(self.paths.root / f"{name}.part",))
            for at, name in enumerate(names)
        )  # fmt: skip

    def runner(self, grace_s: float = 5.0) -> Runner:
        """Return a runner over the shell commands."""
        display = Display(Console(file=self.output, force_terminal=False, width=200))
        stamps = Stamps(self.paths, self.tree)
        return Runner(self.paths, stamps, display, command=self.command, resume="again", grace_s=grace_s)

    def run(self, grace_s: float = 5.0) -> list[str]:
        """Run what is not done; return what ran."""
        return self.runner(grace_s).run(self.stages)

    def command(self, stage: Stage) -> Sequence[str]:
        """Return the shell command of a stage."""
        return ["sh", "-c", f"cd '{self.paths.root}' && echo {stage.name} >> ran && {{ {self.scripts[stage.name]}; }}"]

    @property
    def ran(self) -> list[str]:
        """Return the names of all stage tries so far."""
        file = self.paths.root / "ran"
        return file.read_text(encoding="utf-8").split() if file.exists() else []
