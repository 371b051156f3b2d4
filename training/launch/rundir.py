"""Opening a run directory: one owner at a time, one configuration for its whole life.

runs/<experiment>/   config.yaml  environment.json  metrics.jsonl  summary.json  report.html
                     data/  model/  sft/  checkpoints/  hf/  eval/  rollouts/  logs/  stamps/
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import cast

from omegaconf import DictConfig, OmegaConf

from environment.core.errors import ConfigError
from training.launch.compose import as_tree
from training.launch.files import write_atomic
from training.launch.paths import RunPaths

FREE_TO_CHANGE = ("trainer.logger", "tool_rl.logging", "tool_rl.budget_minutes", "ray_kwargs")
"""Keys that may differ between two launches of one run: they change what is shown or where, not what comes out."""
MOST_LINES = 30
"""Differences shown at most."""


@contextmanager
def hold(paths: RunPaths) -> Iterator[None]:
    """Hold the run directory's lock; the kernel lets go of it when the process ends, however it ends.

    Raises:
        ConfigError: another process works in this directory.
    """
    paths.root.mkdir(parents=True, exist_ok=True)
    with paths.lock.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            raise ConfigError(
                f"another run works in {paths.root}",
                where="runs",
                got=file.read().strip() or None,
                fix="wait for it, or start a new experiment with EXPERIMENT_NAME=...",
            ) from None
        file.truncate(0)
        since = datetime.now().isoformat(timespec="seconds")
        file.write(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}))
        file.flush()
        yield


def fresh_name(run_root: Path, name: str) -> str:
    """Return the first of name-2, name-3, … that has no run directory; the name itself where it is free."""
    taken = name
    number = 1
    while (run_root / taken).exists():
        number += 1
        taken = f"{name}-{number}"
    return taken


def settle_config(paths: RunPaths, tree: Mapping[str, object]) -> None:
    """Write config.yaml; where there is one, it may differ only in keys that are free to change.

    Args:
        paths: the run.
        tree: the resolved configuration, secrets hidden already.

    Raises:
        ConfigError: the directory belongs to another configuration; says each difference. Nothing is changed.
    """
    kept = read_config(paths)
    if kept is not None:
        differences = compare(kept, tree, paths.root)
        if differences:
            raise _differs(paths, differences)
        if kept == tree:
            return
    write_atomic(paths.config, OmegaConf.to_yaml(OmegaConf.create(dict(tree))))


def read_config(paths: RunPaths) -> dict[str, object] | None:
    """Return the configuration of an existing run, or None."""
    if not paths.config.is_file():
        return None
    config = OmegaConf.create(paths.config.read_text(encoding="utf-8"))
    return as_tree(config, resolve=False) if isinstance(config, DictConfig) else None


def compare(old: Mapping[str, object], new: Mapping[str, object], root: Path) -> list[tuple[str, str, str]]:
    """Return (key, was, is) for every leaf that differs and matters.

    Paths inside the run directory count as equal wherever the directory lies now.
    """
    was, now = dict(_leaves(old)), dict(_leaves(new))
    before = str(was.get("tool_rl.run_dir", root))
    found: list[tuple[str, str, str]] = []
    for key in [*was, *(k for k in now if k not in was)]:
        if any(key == free or key.startswith(f"{free}.") for free in FREE_TO_CHANGE) or key == "tool_rl.run_root":
            continue
        left = _shown(was.get(key, "(absent)")).replace(before, "RUN")
        right = _shown(now.get(key, "(absent)")).replace(str(root), "RUN")
        if left != right:
            found.append((key, left, right))
    return found


def _differs(paths: RunPaths, differences: list[tuple[str, str, str]]) -> ConfigError:
    width = max(len(key) for key, _, _ in differences)
    left = max(len(was) for _, was, _ in differences)
    lines = [f"  {key:<{width}} was {was:<{left}} is {now}" for key, was, now in differences[:MOST_LINES]]
    if len(differences) > MOST_LINES:
        lines.append(f"  … and {len(differences) - MOST_LINES} more")
    head = f"cannot resume {paths.root}: its configuration differs from the one given"
    last = (
        "Give the old values, or start a new experiment with EXPERIMENT_NAME=... or --fresh (nothing was changed).\n"
        f"To go on with the old values as they are: tool-rl run --run-dir {paths.root}"
    )
    return ConfigError("\n".join([head, *lines, last]), where="runs")


def _leaves(tree: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield from _leaves(cast("Mapping[str, object]", value), f"{prefix}{name}.")
        else:
            yield prefix + str(name), value


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
