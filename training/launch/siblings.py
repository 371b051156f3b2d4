"""Runs of the same experiment with other seeds: they belong into one table, all of them, good or bad."""

from __future__ import annotations

from pathlib import Path

from training.launch.paths import RunPaths
from training.launch.rundir import compare, read_config

SEED_KEYS = ("trainer.experiment_name", "tool_rl.run_dir", "tool_rl.start_model")
"""Keys besides `…seed` that differ between runs that differ in nothing but their seed."""


def runs_of_other_seeds(paths: RunPaths) -> list[Path]:
    """Return this run and every finished one beside it that differs in seeds alone, by seed.

    A run counts as finished when it has a summary. Of two runs with one seed both are returned.
    """
    own = read_config(paths)
    if own is None:
        return [paths.root]
    found: list[tuple[int, Path]] = [(_seed(own), paths.root)]
    for folder in sorted(paths.root.parent.iterdir()):
        other = RunPaths(folder)
        config = read_config(other) if folder != paths.root and other.summary.is_file() else None
        if config is not None and _differs_in_seed_only(own, config, paths.root, folder):
            found.append((_seed(config), folder))
    return [folder for _, folder in sorted(found)]


def _differs_in_seed_only(own: dict[str, object], other: dict[str, object], root: Path, folder: Path) -> bool:
    differences = compare(own, other, folder)
    names = {key for key, was, now in differences if was.replace(root.name, "RUN") != now.replace(folder.name, "RUN")}
    return all(name.rpartition(".")[2].endswith("seed") or name in SEED_KEYS for name in names)


def _seed(config: dict[str, object]) -> int:
    section = config.get("tool_rl")
    seed = section.get("seed") if isinstance(section, dict) else None
    return seed if isinstance(seed, int) else 0
