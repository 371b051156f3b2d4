"""`tool_rl`: verl's synchronous trainer that also keeps trajectories and a metrics file a person can read.

Everything numerical is verl's unless `tool_rl.actor` says otherwise: by default this trainer and `sync` make the same
update of the same batch.
"""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import torch
import transfer_queue as tq
from tensordict import TensorDict
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

from environment.core.errors import StageError
from training.advantages.downsample import downsampled_advantages
from training.verl_plugin.step_file import StepFile
from training.verl_plugin.step_metrics import summarise

POLL_S = 0.2
"""Seconds between two looks at whether a step's rollouts are complete. verl looks every two, so that a step waits one
for nothing on average: a thirtieth of a step on a CPU."""


@register_trainer("tool_rl")
class ToolRlTrainer(PPOTrainerSync):
    """Synchronous GRPO whose rollouts are `Trajectory` objects."""

    @property
    def trainer_mode(self) -> str:
        """Return `sync`: verl compares the mode with that name wherever synchronous training differs."""
        return "sync"

    @trainer_mode.setter
    def trainer_mode(self, _value: str) -> None:
        """Ignore the configured name, which only chose this class."""

    def on_init_end(self) -> None:
        """Drop metrics of steps that the restored checkpoint does not know, then load the weights into the engine."""
        super().on_init_end()
        self.replay_buffer.poll_interval = POLL_S
        self._run = Path(self.config.tool_rl.run_dir)
        self._steps = StepFile(self._run)
        self._steps.settle(self.global_steps)

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> KVBatchMeta:
        """Remember what the step was, for `_save_checkpoint`."""
        batch = super().step(metrics, timing_raw)
        self._finished = (batch, metrics, timing_raw)
        return batch

    def _save_checkpoint(self) -> None:
        """Write the step down first: a kill right after the checkpoint must not lose its figures and rollouts."""
        self._steps.note(self._record(*self._finished))
        super()._save_checkpoint()

    def _compute_advantage(self, batch: KVBatchMeta, metrics: dict[str, Any]) -> KVBatchMeta:
        """Stop the run where nothing can be learnt because the infrastructure failed every rollout of a step."""
        stop_if_all_void(_column(batch, batch.keys, "extra_fields"), self.global_steps)
        batch = super()._compute_advantage(batch, metrics)
        keep = self.config.tool_rl.actor.keep_per_group
        return batch if keep is None else self._downsample(batch, int(keep))

    def _downsample(self, batch: KVBatchMeta, keep: int) -> KVBatchMeta:
        """Replace the advantages by those of the widest rollouts of each group; the engine skips the others."""
        groups = [str(uid) for uid in _column(batch, batch.keys, "uid")]
        fields = ["rm_scores", "response_mask"]
        data = tq.kv_batch_get(keys=batch.keys, partition_id=str(batch.partition_id), select_fields=fields)
        rewards = torch.stack([row.sum() for row in data["rm_scores"].unbind(0)])
        by_std = bool(self.config.algorithm.get("norm_adv_by_std_in_grpo", True))
        advantages = downsampled_advantages(rewards, groups, keep, by_std)
        rows = [a * mask.float() for a, mask in zip(advantages, data["response_mask"].unbind(0), strict=True)]
        nested = torch.nested.as_nested_tensor(rows, layout=torch.jagged)
        written = TensorDict({"advantages": nested}, batch_size=len(rows))
        return tq.kv_batch_put(keys=batch.keys, partition_id=str(batch.partition_id), fields=written)

    def _compute_metrics(
        self, batch: KVBatchMeta, metrics: dict[str, Any], timing_raw: dict[str, float], global_steps: int, epoch: int
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, global_steps, epoch)
        row = self._record(batch, metrics, timing_raw)
        metrics.update({f"tool_rl/{name}": value for name, value in row.items() if isinstance(value, float)})
        self._steps.append(row)

    def _record(self, batch: KVBatchMeta, metrics: dict[str, Any], timing: dict[str, float]) -> dict[str, Any]:
        """Keep the step's rollouts and return its line."""
        keys = [k for k, tag in zip(batch.keys, batch.tags, strict=True) if not tag.get("is_padding", False)]
        extra = _column(batch, keys, "extra_fields")
        groups = [str(uid) for uid in _column(batch, keys, "uid")]
        rows = [json.loads(fields["trajectory"]) for fields in extra]
        scores = [fields["reward_extra_info"] for fields in extra]
        self._keep_rollouts(rows, scores, self.global_steps)
        line = summarise(scores, [row["meta"] for row in rows], groups, metrics, timing, self.global_steps)
        verl = {name: float(value) for name, value in metrics.items() if _is_number(value)}
        return {**line, "time": round(time.time(), 3), "verl": verl}

    def _keep_rollouts(self, rows: list[dict[str, Any]], scores: list[dict[str, Any]], step: int) -> None:
        path = self._run / "rollouts" / f"step_{step:05d}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_suffix(".part")
        with half.open("w", encoding="utf-8") as file:
            for row, score in zip(rows, scores, strict=True):
                row["meta"]["reward"] = score
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        half.replace(path)


def stop_if_all_void(extra: list[dict[str, Any]], step: int) -> None:
    """Raise StageError with the first cause if no rollout of the step was more than a failure of the infrastructure."""
    if any(not fields["reward_extra_info"]["void"] for fields in extra):
        return
    cause = json.loads(extra[0]["trajectory"])["error"] if extra else "no rollout came back"
    fix = "read the log of the stage from its first error; the same command continues from the last checkpoint"
    raise StageError(f"every rollout of step {step} failed", where="rl", got=cause, fix=fix)


def _column(batch: KVBatchMeta, keys: list[str], name: str) -> list[Any]:
    """Fetch a non-tensor column as a list; the queue gives a list or a stack, depending on its backend."""
    data = tq.kv_batch_get(keys=keys, partition_id=str(batch.partition_id), select_fields=[name])
    column: Any = data[name]
    return list(column.tolist()) if hasattr(column, "tolist") else list(column)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or hasattr(value, "item")
