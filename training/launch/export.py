"""From verl's sharded checkpoint to a Hugging Face folder that `transformers` and `vllm serve` load."""
from __future__ import annotations

import os
import shutil
from pathlib import Path

from environment.core.errors import StageError
from training.launch.paths import RunPaths

WEIGHTS = (".safetensors", ".safetensors.index.json", ".bin")


def export_hf(run_dir: Path) -> Path:
    """Write RUN/hf from the newest RL checkpoint and return it."""
    paths = RunPaths(run_dir)
    return merge_checkpoint(newest_checkpoint(paths.checkpoints) / "actor", paths.model, paths.hf)


def newest_checkpoint(folder: Path) -> Path:
    """Return the checkpoint that verl's tracker file names.

    Raises:
        StageError: there is none.
    """
    tracker = folder / "latest_checkpointed_iteration.txt"
    step = tracker.read_text(encoding="utf-8").strip() if tracker.is_file() else ""
    found = folder / f"global_step_{step}"
    if not step.isdigit() or not found.is_dir():
        raise StageError("no finished checkpoint", where=str(folder), expected=str(tracker), fix="train first")
    return found


def merge_checkpoint(checkpoint: Path, base_model: Path, out: Path) -> Path:
    """Merge shards into `out`; the tokenizer and its chat template come from `base_model`.

    `out` appears whole or not at all.
    """
    from verl.model_merger.base_model_merger import ModelMergerConfig
    from verl.model_merger.fsdp_model_merger import FSDPModelMerger

    half = out.with_name(f".{out.name}.{os.getpid()}.part")
    shutil.rmtree(half, ignore_errors=True)
    half.mkdir(parents=True)
    merger = FSDPModelMerger(
        ModelMergerConfig(
            operation="merge",
            backend="fsdp",
            local_dir=str(checkpoint),
            target_dir=str(half),
            hf_model_config_path=str(checkpoint / "huggingface"),
        )
    )
    merger.merge_and_save()
    for file in base_model.iterdir():
        if file.is_file() and not file.name.endswith(WEIGHTS):
            shutil.copy2(file, half / file.name)
    shutil.rmtree(out, ignore_errors=True)
    half.rename(out)
    return out
