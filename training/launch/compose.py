"""Composing the configuration with Hydra: verl's YAML at the root, our groups over it.

verl's folder of YAML is found through its import spec, never by importing verl, which would load
torch and take seconds.
"""

from __future__ import annotations

import copy
import functools
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from environment.core.errors import ConfigError

CONFIG_DIR = Path(__file__).parent / "config"
"""Our groups; the YAML there is the source of truth."""
GROUPS = ("profile", "model", "task", "algorithm", "reward", "logging")
"""Groups a person may choose from, as NAME=OPTION."""


def verl_config_dir() -> Path:
    """Return the folder of verl's trainer config.

    Raises:
        ConfigError: verl isn't installed in this Python, or holds no such folder.
    """
    try:
        spec = importlib.util.find_spec("verl")
    except (ImportError, ValueError):
        spec = None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(place) / "trainer" / "config"
        if (folder / "ppo_trainer.yaml").is_file():
            return folder
    raise ConfigError(
        "verl's configuration was not found in this Python",
        where="config",
        expected="the package verl 0.9.1 (its YAML is the root of ours)",
        fix="bash scripts/setup.sh, then use .venv/bin/python",
    )


def group_options(group: str) -> tuple[str, ...]:
    """Return the options of one of our groups; files ending in `_base` are parts, not options."""
    names = (path.stem for path in (CONFIG_DIR / group).glob("*.yaml"))
    return tuple(sorted(name for name in names if not name.endswith("_base")))


def compose_config(overrides: Sequence[str]) -> DictConfig:
    """Return the composed configuration, interpolations still open.

    Raises:
        ConfigError: Hydra refused; the message is Hydra's own.
    """
    return copy.deepcopy(_composed(verl_config_dir(), tuple(overrides)))


@functools.lru_cache(maxsize=16)
def _composed(verl_dir: Path, overrides: tuple[str, ...]) -> DictConfig:
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONFIG_DIR), version_base="1.3"):
            return compose("main", overrides=[f"hydra.searchpath=[file://{verl_dir}]", *overrides])
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError(str(error), where="config") from error


def as_tree(config: DictConfig, *, resolve: bool = True) -> dict[str, object]:
    """Return the configuration as plain containers."""
    return cast("dict[str, object]", OmegaConf.to_container(config, resolve=resolve, throw_on_missing=False))
