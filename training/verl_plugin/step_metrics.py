"""The line of one training step: what a person watching wants to know, from trajectories and verl's own metrics."""
from __future__ import annotations

import json
import math
from collections import defaultdict
from typing import Any


def summarise(
    rewards: list[dict[str, Any]],
    meta: list[dict[str, Any]],
    groups: list[str],
    verl: dict[str, Any],
    timing: dict[str, float],
    step: int,
) -> dict[str, Any]:
    """Return the metrics of a step. Void rollouts are counted and otherwise left out: they were not scored.

    Args:
        rewards: what each rollout's reward logged.
        meta: facts of each trajectory; fewer than rollouts where an agent loop keeps none.
        groups: prompt of each rollout, for the share of groups that carry a learning signal.
        verl: verl's metrics of the step.
        timing: seconds of the step's parts; `step`, where it is there, is the whole.
    """
    scored = [(r, g) for r, g in zip(rewards, groups, strict=True) if not r["void"]]
    known = [r for r, _ in scored]
    made = sum(r.get("calls/made", 0.0) for r in known)
    # Unreadable calls are among the failed ones. Where trajectories are kept, `rollout_metrics` knows better than this.
    valid = made - sum(r.get("calls/failed", 0.0) for r in known)
    seconds = float(timing.get("step") or sum(timing.values()))
    tokens = _number(verl, "perf/total_num_tokens")
    return {
        "step": step,
        "reward": _mean([r["score"] for r in known]),
        "success": _mean([r["acc"] for r in known]),
        "turns": _mean([float(m["turns"]) for m in meta]),
        "call_valid": valid / made if made else 0.0,
        "kl": _number(verl, "actor/ppo_kl"),
        **_measured(verl, entropy=("actor/entropy", "actor/entropy_loss")),
        "grad_norm": _number(verl, "actor/grad_norm"),
        "tokens_per_s": tokens / seconds if seconds else 0.0,
        "rollouts": len(rewards),
        "void": sum(r["void"] for r in rewards),
        "live_groups": _live_groups([g for _, g in scored], [r["score"] for r in known]),
        "step_s": seconds,
        "timing": {name: round(float(value), 3) for name, value in timing.items()},
    }


def written_step(line: str) -> float:
    """Return the step of a metrics line; infinity for a torn one, so that it is dropped."""
    try:
        return float(json.loads(line)["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf


def _live_groups(groups: list[str], scores: list[float]) -> float:
    """Return the share of groups whose scores differ; the others have zero advantage."""
    by_group: dict[str, list[float]] = defaultdict(list)
    for group, score in zip(groups, scores, strict=True):
        by_group[group].append(score)
    return _mean([float(max(s) - min(s) > 1e-9) for s in by_group.values()])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _measured(metrics: dict[str, Any], **wanted: tuple[str, ...]) -> dict[str, float]:
    """Return those of the wanted metrics that the step has: what was not computed is no zero."""
    found = {name: next((metrics[key] for key in keys if key in metrics), None) for name, keys in wanted.items()}
    return {name: float(value) for name, value in found.items() if value is not None}


def _number(metrics: dict[str, Any], *names: str) -> float:
    for name in names:
        if name in metrics:
            return float(metrics[name])
    return 0.0
