"""`python -m scripts.bench.advantages`: what verl's GRPO estimator and the whole pipeline cost on 256 x 4 096 tokens.

Both get the same padded rewards, of 32 prompts x 8 rollouts and four turns a rollout. The peer is verl's own function.
Ours is the same function on one column a rollout, the sum of its token rewards, *and* all around it: masks, EGPO with a
third of the tokens in scope, re-centring, spreading over tokens; `ours with turn credit` adds credit by turn. Subjects
alternate; each repeat is the mean of a few calls, in milliseconds of processor time on one thread, which a busy machine
distorts least. What a step pays besides is not in here: the queue, and for EGPO the entropies themselves.
"""
from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from scripts.bench.record import Measure, table, take, write
from training.advantages.masks import select
from training.advantages.pipeline import shape
from training.advantages.rollouts import Rollouts
from training.advantages.settings import AdvantageSettings, EgpoSettings, MaskSettings, TurnCreditSettings

ROWS, TOKENS, GROUP, TURNS = 256, 4096, 8, 4
CALLS, REPEATS = 5, 15
PACKAGES = ("torch", "verl")
BESIDES = MaskSettings(void_turn="loss", overlong="group")
EGPO = AdvantageSettings(masks=BESIDES, egpo=EgpoSettings(enabled=True), recentre=True)
EVERYTHING = EGPO.model_copy(update={"turn_credit": TurnCreditSettings(enabled=True)})


def batch(seed: int = 0) -> tuple[Rollouts, Tensor, Tensor, Tensor]:
    """Return rollouts, token-level rewards, entropies and their scope; every turn is followed by an observation."""
    draw = torch.Generator().manual_seed(seed)
    step = TOKENS // TURNS
    lengths = torch.randint(step // 4, step // 2, (ROWS, TURNS), generator=draw)
    starts = torch.arange(TURNS) * step
    spans = torch.stack([starts.expand(ROWS, TURNS), starts + lengths], -1)
    place = torch.arange(TOKENS)
    mask = ((place[None, None] >= spans[..., :1]) & (place[None, None] < spans[..., 1:])).any(1).float()
    rewards = torch.zeros(ROWS, TOKENS)
    rewards[:, -1] = torch.rand(ROWS, generator=draw)
    off = torch.zeros(ROWS, dtype=torch.bool)
    rollouts = Rollouts(
        groups=tuple(f"prompt-{row // GROUP}" for row in range(ROWS)),
        mask=mask,
        spans=spans,
        turn_rewards=torch.rand(ROWS, TURNS, generator=draw),
        acc=torch.rand(ROWS, generator=draw) < 0.5,
        void=off,
        overlong=torch.rand(ROWS, generator=draw) < 0.05,
        void_turn=torch.rand(ROWS, generator=draw) < 0.05,
        padding=off,
    )
    scope = (torch.rand(ROWS, TOKENS, generator=draw) < 1 / 3) & mask.bool()
    return rollouts, rewards, torch.rand(ROWS, TOKENS, generator=draw), scope.float()


def subjects() -> dict[str, Callable[[], Tensor]]:
    """Return what is measured, by name."""
    from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

    rollouts, rewards, entropy, scope = batch()
    mask, one = rollouts.mask.long(), torch.ones(ROWS, 1, dtype=torch.int64)
    index = np.array(rollouts.groups, dtype=object)

    def plain() -> Tensor:
        return compute_grpo_outcome_advantage(rewards, mask, index)[0]

    def ours(settings: AdvantageSettings) -> Tensor:
        selection = select(rollouts, settings)
        base = compute_grpo_outcome_advantage(rewards.sum(1, keepdim=True), one, index)[0][:, 0]
        return shape(rollouts, selection, base, settings, lambda live: (entropy, scope)).advantages

    return {
        "verl grpo": plain,
        "ours": lambda: ours(EGPO),
        "ours with turn credit": lambda: ours(EVERYTHING),
    }


def measure(named: dict[str, Callable[[], Tensor]]) -> list[Measure]:
    """Time all subjects in turn, again and again, after one call of each that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in named}
    for work in named.values():
        work()
    for _ in range(REPEATS):
        for name, work in named.items():
            began = time.process_time()
            for _ in range(CALLS):
                work()
            times[name].append((time.process_time() - began) / CALLS * 1000)
    return [Measure(name, "ms", tuple(samples)) for name, samples in times.items()]


def main() -> None:
    """Run the bench and leave its record."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.advantages", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    settings: dict[str, object] = {"rows": ROWS, "tokens": TOKENS, "group": GROUP, "turns": TURNS, "threads": 1}
    run = take("advantages", settings, measure(subjects()), PACKAGES)
    print(table(run))
    for name in ("ours", "ours with turn credit"):
        print(f"{name} / verl grpo: {run.compare('ms', name, 'verl grpo'):.2f}")
    print(write(run, given.out))


if __name__ == "__main__":
    main()
