"""Stamps: the memory of what is done.

A stage is done when its stamp fits its inputs and its outputs are as it left them.
A stamp holds a key, the hash of the stage's settings, of the outside files it reads and of the
outputs of the stages it needs; and a fingerprint of each of its own outputs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from training.launch.files import digest, fingerprint, read_json, write_json
from training.launch.overrides import lookup
from training.launch.paths import RunPaths
from training.launch.stages import Stage

State = Literal["done", "new", "changed", "damaged", "started", "waits"]
"""done: nothing to do. new: never run. started: interrupted, continues. changed: inputs or settings differ from the
stamp's. damaged: an output is missing or altered. waits: depends on a stage that will run first."""


@dataclass(frozen=True)
class Stamps:
    """Reads and writes the stamps of one run."""

    paths: RunPaths
    tree: Mapping[str, object]
    """The resolved configuration."""

    def key(self, stage: Stage) -> str:
        """Return the hash of everything the stage depends on."""
        settings = {key: lookup(self.tree, key)[1] for key in stage.keys}
        inputs = [[path.name, fingerprint(path)] for path in stage.inputs]
        upstream = {name: self._outputs(name) for name in stage.needs}
        text = json.dumps([stage.name, settings, inputs, upstream], sort_keys=True, default=str)
        return digest(text.replace(str(self.paths.root), "RUN"))

    def state(self, stage: Stage) -> State:
        """Return where the stage stands; looks only at its own stamp and outputs."""
        stamp = read_json(self.paths.stamp(stage.name))
        key = self.key(stage)
        if stamp is None or "outputs" not in stamp:
            begun = self.begun(stage)
            return "new" if begun is None else "started" if begun == key else "changed"
        if stamp.get("key") != key:
            return "changed"
        return "done" if stamp["outputs"] == self._fingerprints(stage) else "damaged"

    def begin(self, stage: Stage) -> None:
        """Remember that the stage was started with its present inputs."""
        write_json(self._start(stage), {"stage": stage.name, "key": self.key(stage)})

    def begun(self, stage: Stage) -> str | None:
        """Return the key of the last try, finished or not."""
        start = read_json(self._start(stage))
        return None if start is None else str(start.get("key"))

    def finish(self, stage: Stage, wall_s: float) -> list[Path]:
        """Stamp the stage as done, unless outputs are missing; return the missing ones."""
        missing = [path for path in stage.outputs if not path.exists()]
        if not missing:
            stamp = {"stage": stage.name, "key": self.key(stage), "wall_s": round(wall_s, 2)}
            write_json(self.paths.stamp(stage.name), {**stamp, "outputs": self._fingerprints(stage)})
        return missing

    def forget(self, stage: Stage) -> None:
        """Drop the stamp of a stage that is about to run again."""
        self.paths.stamp(stage.name).unlink(missing_ok=True)

    def _start(self, stage: Stage) -> Path:
        return self.paths.stamp(f"{stage.name}.started")

    def _outputs(self, name: str) -> object:
        stamp = read_json(self.paths.stamp(name))
        return None if stamp is None else stamp.get("outputs")

    def _fingerprints(self, stage: Stage) -> dict[str, str | None]:
        return {self._relative(path): fingerprint(path) for path in stage.outputs}

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.paths.root).as_posix() if path.is_relative_to(self.paths.root) else str(path)


def stage_states(stamps: Stamps, stages: Sequence[Stage]) -> dict[str, State]:
    """Return the state of every stage, taking into account that a stage after one that runs waits for it."""
    states: dict[str, State] = {}
    for stage in stages:
        pending = any(states.get(need, "done") != "done" for need in stage.needs)
        own = stamps.state(stage)
        states[stage.name] = "waits" if pending and own != "new" and own != "started" else own
    return states
