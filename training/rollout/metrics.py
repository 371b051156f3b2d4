"""What a step's rollouts did, as numbers a person can watch, and what of it deserves a word.

Void rollouts stand outside every figure: they say something about the infrastructure, not about the policy.

    call_valid               share of calls that could be read, named a tool on offer and had valid arguments
    calls/<class>_rate       share of calls of a class (`BFCL.check.conduct.CALL_CLASSES`), calls/repeat_rate besides
    tools/used_rate          share of rollouts with a call, readable or not
    stop/<reason>_rate       share of rollouts that ended so; truncated_rate, void_turn_rate
    structure/<state>_rate   share of turns in a state (`BFCL.check.structure`)
    structure/early_warning  share of opened calls behind which the turn ended at once: the sampled
                             p(end of turn | opening tag), which rises before turns collapse (arXiv 2606.26027)
    latency/*_s              of an episode, of its generation, and of all else in it (world, parsing, waiting)
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence

from BFCL.check.conduct import CALL_CLASSES, Conduct, conduct
from BFCL.check.structure import TurnState
from environment.core.calls import ResultStatus
from environment.core.trajectory import StopReason, Trajectory

COLLAPSED_ALARM = 0.05
"""Share of collapsed turns that, in two steps in a row, is worth a word."""
VALID = (ResultStatus.OK, ResultStatus.MISS, ResultStatus.UPSTREAM_ERROR, ResultStatus.TIMEOUT)
"""Classes of valid calls: whether the world had an answer is not the model's doing."""
EARLY_ALARM = 0.2
"""Share of dead opening tags that is worth a word at once."""


def rollout_metrics(trajectories: Sequence[Trajectory]) -> dict[str, float]:
    """Return the figures of a step; rates of nothing are left out, for nothing is no zero."""
    known = [(conduct(t), t) for t in trajectories if t.stop is not StopReason.INFRASTRUCTURE]
    if not known:
        return {}
    done = [c for c, _ in known]
    return {**_calls(done), **_ends(done), **_structure(done), **_latency([t for _, t in known])}


def _calls(done: list[Conduct]) -> dict[str, float]:
    made = sum(c.made for c in done)
    out = {"calls/per_rollout": made / len(done), "tools/used_rate": _share([c.made > 0 for c in done])}
    if made:
        out |= {f"calls/{name}_rate": sum(c.calls.get(name, 0) for c in done) / made for name in CALL_CLASSES}
        out["calls/repeat_rate"] = sum(c.repeats for c in done) / made
        out["call_valid"] = sum(c.calls.get(status.value, 0) for c in done for status in VALID) / made
    return out


def _ends(done: list[Conduct]) -> dict[str, float]:
    reasons = [reason for reason in StopReason if reason is not StopReason.INFRASTRUCTURE]
    return {
        "turns/max": float(max(c.turns for c in done)),
        "truncated_rate": _share([c.truncated for c in done]),
        "void_turn_rate": _share([c.void_turn for c in done]),
        **{f"stop/{reason.value}_rate": _share([c.stop is reason for c in done]) for reason in reasons},
    }


def _structure(done: list[Conduct]) -> dict[str, float]:
    shapes = [shape for c in done for shape in c.shapes]
    if not shapes:
        return {}
    opened = sum(s.opened for s in shapes)
    out = {f"structure/{state.value}_rate": _share([s.state is state for s in shapes]) for state in TurnState}
    out["structure/open_close_imbalance"] = sum(abs(s.opened - s.closed) for s in shapes) / len(shapes)
    if opened:
        out["structure/empty_call_rate"] = sum(s.empty for s in shapes) / opened
        out["structure/early_warning"] = sum(s.ended_after_open for s in shapes) / opened
    return out


def _latency(trajectories: list[Trajectory]) -> dict[str, float]:
    timed = [(_number(t.meta.get("seconds")), _number(t.meta.get("generate_s"))) for t in trajectories]
    episodes, writing = [e for e, _ in timed], [g for _, g in timed]
    return {
        "latency/episode_s": sum(episodes) / len(timed),
        "latency/episode_max_s": max(episodes),
        "latency/generate_s": sum(writing) / len(timed),
        "latency/other_s": sum(max(e - g, 0.0) for e, g in timed) / len(timed),
    }


def notes(step: int, now: Mapping[str, float], before: Mapping[str, float] | None = None) -> list[str]:
    """Return what a person should be told about a step, in words; nothing for a healthy one.

    Args:
        now: figures of the step.
        before: those of the step before it, where there was one in this process.
    """
    told: list[str] = []
    if before is None and now.get("tools/used_rate") == 0:
        told.append(
            f"step {step}: no rollout called a tool. Either the model does not know the call format (warm-start it: "
            "tool_rl.sft.enabled=true), or the tools are not in its prompt"
        )
    collapsed = "structure/collapsed_rate"
    if min(now.get(collapsed, 0.0), (before or {}).get(collapsed, 0.0)) > COLLAPSED_ALARM:
        told.append(f"step {step}: {now[collapsed]:.0%} of the turns hold only control tokens, again: a collapse")
    if now.get("advantage/egpo/without_scope") == 1.0:
        told.append(
            f"step {step}: EGPO found no closed chain of thought in any rollout, so it changes nothing "
            "(tool_rl.advantage.egpo.scope=assistant reads all that the model writes)"
        )
    if now.get("structure/early_warning", 0.0) > EARLY_ALARM:
        share = now["structure/early_warning"]
        told.append(f"step {step}: behind {share:.0%} of the opened calls the turn ends at once: a collapse begins so")
    return told


def _share(hits: Sequence[bool]) -> float:
    return sum(hits) / len(hits)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
