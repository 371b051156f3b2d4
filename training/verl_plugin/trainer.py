"""`tool_rl`: verl's synchronous trainer that also keeps trajectories and a metrics file a person can read.

Everything numerical is verl's unless `tool_rl.advantage` or `tool_rl.actor` says otherwise: by default this trainer and
`sync` make the same update of the same batch. A rollout that the infrastructure failed is never part of one.
"""
from __future__ import annotations

import functools
import json
import logging
import time
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf
from torch import Tensor
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.debug import marked_timer

from environment.core.errors import StageError
from environment.core.trajectory import Trajectory
from training.advantages.settings import AdvantageSettings
from training.rollout.metrics import notes, rollout_metrics
from training.rollout.probe import probe_dataset
from training.verl_plugin.advantage import Plan, compute
from training.verl_plugin.columns import is_padding, read_column
from training.verl_plugin.entropy import entropy_and_scope, scope_masks
from training.verl_plugin.refills import Refills
from training.verl_plugin.step_file import StepFile
from training.verl_plugin.step_metrics import summarise

POLL_S = 0.2
"""Seconds between two looks at whether a step's rollouts are complete. verl looks every two, so that a step waits one
for nothing on average: a thirtieth of a step on a CPU."""

logger = logging.getLogger(__name__)


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

    def _init_dataloader(self) -> None:
        """Load the rows, and see before anything else is started that the first one reaches the model as meant."""
        super()._init_dataloader()
        probe_dataset(self.train_dataset, self.tokenizer, self.config)

    def on_init_end(self) -> None:
        """Drop metrics of steps that the restored checkpoint does not know, then load the weights into the engine."""
        super().on_init_end()
        self.replay_buffer.poll_interval = POLL_S
        self._run = Path(self.config.tool_rl.run_dir)
        self._steps = StepFile(self._run)
        self._steps.settle(self.global_steps)
        self._before: dict[str, float] | None = None

    @functools.cached_property
    def _refills(self) -> Refills:
        return Refills(self._plan().settings.max_refills * int(self.config.data.train_batch_size))

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
        """Run the advantage pipeline; stop the run where the infrastructure failed every rollout of a step."""
        extra = read_column(batch, batch.keys, "extra_fields")
        stop_if_all_void(extra, self.global_steps)
        estimate = functools.partial(super()._compute_advantage, metrics=metrics)
        entropy = functools.partial(self._entropy, batch, extra)
        done, more = compute(batch, extra, self._plan(), estimate, entropy)
        metrics.update(more)
        return done

    def _plan(self) -> Plan:
        ours = self.config.tool_rl
        settings = AdvantageSettings.model_validate(_plain(ours.get("advantage")))
        keep = ours.actor.keep_per_group
        by_std = bool(self.config.algorithm.get("norm_adv_by_std_in_grpo", True))
        return Plan(settings, None if keep is None else int(keep), by_std)

    def _entropy(self, batch: KVBatchMeta, extra: list[dict[str, Any]], live: Tensor) -> tuple[Tensor, Tensor]:
        """Return token entropies of the live rows and which of them count; from one more pass where verl made none."""
        scope = scope_masks(batch, extra, live, self.tokenizer, self._plan().settings.egpo)
        correction = self.config.algorithm.get("rollout_correction") or {}
        infer = self._infer_entropy if correction.get("bypass_mode", False) else None
        with marked_timer("entropy", self.timing_raw):
            ranks = max(self.actor_rollout_wg._dispatch_info["actor"]) + 1
            return entropy_and_scope(batch, scope, infer, ranks)

    def _infer_entropy(self, part: KVBatchMeta) -> None:
        temperature = self.config.actor_rollout_ref.rollout.temperature
        part.extra_info = {"calculate_entropy": True, "compute_loss": False, "temperature": temperature}
        self.actor_rollout_wg.compute_log_prob(part)

    def _add_prompts_to_generate(self, num_prompts: int) -> int:
        """Count what dynamic sampling asks for, so that prompts nobody can learn from don't keep a step for ever."""
        self._refills.take(num_prompts, self.global_steps)
        return super()._add_prompts_to_generate(num_prompts)

    def _compute_metrics(
        self, batch: KVBatchMeta, metrics: dict[str, Any], timing_raw: dict[str, float], global_steps: int, epoch: int
    ) -> None:
        super()._compute_metrics(batch, metrics, timing_raw, global_steps, epoch)
        row = self._record(batch, metrics, timing_raw)
        figures = {name: value for name, value in row.items() if isinstance(value, float)}
        metrics.update({f"tool_rl/{name}": value for name, value in figures.items()})
        self._steps.append(row)
        for note in row["notes"]:
            logger.warning(note)
        self._before = figures

    def _record(self, batch: KVBatchMeta, metrics: dict[str, Any], timing: dict[str, float]) -> dict[str, Any]:
        """Keep the step's rollouts and return its line."""
        keys = [k for k, tag in zip(batch.keys, batch.tags, strict=True) if not is_padding(tag)]
        extra = read_column(batch, keys, "extra_fields")
        groups = [str(uid) for uid in read_column(batch, keys, "uid")]
        # Rollouts of another agent loop carry no trajectory; their scores count all the same.
        rows = [json.loads(fields["trajectory"]) for fields in extra if "trajectory" in fields]
        scores = [{"void": 0.0, "acc": 0.0, **fields.get("reward_extra_info", {})} for fields in extra]
        if len(rows) == len(extra):
            self._keep_rollouts(rows, scores, self.global_steps)
        line = summarise(scores, [row["meta"] for row in rows], groups, metrics, timing, self.global_steps)
        told = rollout_metrics([Trajectory.from_json(row) for row in rows])
        told |= {name: float(value) for name, value in metrics.items() if name.startswith("advantage/")}
        words = notes(self.global_steps, told, self._before)
        verl = {name: float(value) for name, value in metrics.items() if _is_number(value)}
        return {**line, **told, "notes": words, "time": round(time.time(), 3), "verl": verl}

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
    if any(not fields.get("reward_extra_info", {}).get("void", 0.0) for fields in extra):
        return
    cause = json.loads(extra[0]["trajectory"])["error"] if extra else "no rollout came back"
    fix = "read the log of the stage from its first error; the same command continues from the last checkpoint"
    raise StageError(f"every rollout of step {step} failed", where="rl", got=cause, fix=fix)


def _plain(section: Any) -> Any:
    """Return a section as plain containers; an empty one where a run's configuration is older than the section."""
    return {} if section is None else OmegaConf.to_container(section, resolve=True)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) or hasattr(value, "item")
