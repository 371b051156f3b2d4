"""Turn a model's name into a local folder: the two built-in models are made, anything else is used as it is."""
from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from environment.core.errors import ConfigError
from training.model import smol, tiny

BUILDERS: dict[str, Callable[[Path], Path]] = {"smollm2-135m": smol.convert, "tiny-qwen3": tiny.build}
"""Name in `model.name` → what writes its folder."""


def prepare_model(name_or_path: str, out: Path) -> Path:
    """Return a folder with config, weights and tokenizer for `name_or_path`.

    A built-in model is written to `out` (first to a sibling, then renamed, so that a kill never leaves half a model).
    A path must exist and is returned unchanged. Any other name is left for `transformers` to resolve.
    """
    if name_or_path in BUILDERS:
        return out if (out / "config.json").is_file() else _build_atomically(name_or_path, out)
    path = Path(name_or_path).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            fix = "give a folder written by save_pretrained"
            raise ConfigError("no config.json in the model folder", where="model.path", got=str(path), fix=fix)
        return path
    if name_or_path.startswith((".", "/", "~")):
        raise ConfigError("the model folder does not exist", where="model.path", got=name_or_path, expected="a folder")
    return Path(name_or_path)


def _build_atomically(name: str, out: Path) -> Path:
    out.parent.mkdir(parents=True, exist_ok=True)
    half = out.with_name(f".{out.name}.{os.getpid()}.part")
    shutil.rmtree(half, ignore_errors=True)
    BUILDERS[name](half)
    shutil.rmtree(out, ignore_errors=True)
    half.rename(out)
    return out
