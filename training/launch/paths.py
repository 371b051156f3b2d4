"""Where everything of one run lies. The only place that spells file names of a run directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from environment.core.errors import ConfigError


@dataclass(frozen=True)
class RunPaths:
    """Paths inside one run directory."""

    root: Path

    @property
    def config(self) -> Path:
        """Return the resolved configuration every stage reads."""
        return self.root / "config.yaml"

    @property
    def environment(self) -> Path:
        """Return the record of versions, hardware and sources."""
        return self.root / "environment.json"

    @property
    def summary(self) -> Path:
        """Return the figures of the run."""
        return self.root / "summary.json"

    @property
    def report(self) -> Path:
        """Return the page for people."""
        return self.root / "report.html"

    @property
    def metrics(self) -> Path:
        """Return the training curve, one JSON object a step."""
        return self.root / "metrics.jsonl"

    @property
    def attempts(self) -> Path:
        """Return the log of every stage attempt with its wall time."""
        return self.root / "attempts.jsonl"

    @property
    def lock(self) -> Path:
        """Return the lock file; held while a run works here."""
        return self.root / ".lock"

    @property
    def world(self) -> Path:
        """Return the world's cache."""
        return self.root / "data" / "world.db"

    def world_of(self, kind: str) -> Path:
        """Return what rollouts open, by the kind of world: the cache, or the reference to a served one."""
        return self.root / "data" / "world.json" if kind == "http" else self.world

    @property
    def data(self) -> Path:
        """Return the folder of rows and parquet files."""
        return self.root / "data"

    @property
    def model(self) -> Path:
        """Return the prepared model before training."""
        return self.root / "model"

    @property
    def sft_model(self) -> Path:
        """Return the model after the warm start."""
        return self.root / "sft" / "hf"

    @property
    def checkpoints(self) -> Path:
        """Return the folder of RL checkpoints."""
        return self.root / "checkpoints" / "rl"

    @property
    def hf(self) -> Path:
        """Return the exported model after RL."""
        return self.root / "hf"

    @property
    def rollouts(self) -> Path:
        """Return the folder of trajectories."""
        return self.root / "rollouts"

    def rows(self, split: str, ending: str = "jsonl") -> Path:
        """Return the rows of a split, `train` or `heldout`."""
        return self.data / f"{split}.{ending}"

    def parquet(self, kind: str, split: str) -> Path:
        """Return the parquet of a kind (`rl`, `sft`) and split."""
        return self.data / f"{kind}_{split}.parquet"

    def evaluation(self, policy: str) -> Path:
        """Return the figures of one policy: base, sft or rl."""
        return self.root / "eval" / f"{policy}.json"

    def stamp(self, stage: str) -> Path:
        """Return the stamp of a finished stage."""
        return self.root / "stamps" / f"{stage}.json"

    def log(self, stage: str) -> Path:
        """Return the log of a stage."""
        return self.root / "logs" / f"{stage}.log"

    def policy_model(self, policy: str) -> Path:
        """Return the model folder of a policy.

        Raises:
            ConfigError: for a policy that doesn't exist.
        """
        folders = {"base": self.model, "sft": self.sft_model, "rl": self.hf}
        if policy not in folders:
            raise ConfigError("no such policy", got=policy, expected="base, sft or rl")
        return folders[policy]
