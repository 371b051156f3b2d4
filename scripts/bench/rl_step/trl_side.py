"""TRL's side of the bench, run by a Python that has TRL: `trl_side.py MODEL PROMPTS.json STEPS GROUP TOKENS OUT.json`.

Nothing of this project is imported, so that the peer's environment needs nothing of ours. Writes one object a step:
seconds, completions, completion tokens.
"""
from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main(arguments: list[str]) -> None:
    """Train a few steps with a reward that differs between completions, and write how long each took."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
    from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportMissingImports]

    model_path, prompts_path, steps, group, tokens, out = arguments
    prompts: list[str] = json.loads(Path(prompts_path).read_text(encoding="utf-8"))
    taken: list[dict[str, float]] = []
    lengths: list[int] = []

    def reward(completions: list[str], **kwargs: Any) -> list[float]:
        lengths.extend(len(ids) for ids in kwargs["completion_ids"])
        return [float(len(set(text))) for text in completions]

    class Clock(TrainerCallback):
        """Seconds between the ends of steps; the first includes warming up and is dropped by the reader."""

        began = time.monotonic()

        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            """Note a step."""
            now = time.monotonic()
            taken.append({"seconds": now - self.began, "completions": len(lengths), "tokens": sum(lengths)})
            lengths.clear()
            Clock.began = now

    config = GRPOConfig(
        output_dir=str(Path(out).parent / "trl"), max_steps=int(steps), num_generations=int(group),
        per_device_train_batch_size=len(prompts) * int(group), max_completion_length=int(tokens), bf16=True,
        use_cpu=True, beta=0.0, temperature=1.0, report_to=[], save_strategy="no", logging_strategy="no",
        gradient_checkpointing=False,
    )  # fmt: skip
    tokenizer = AutoTokenizer.from_pretrained(model_path, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(model_path, dtype="float32")
    data = Dataset.from_list([{"prompt": text} for text in prompts * int(steps)])
    trainer = GRPOTrainer(
        model=model, processing_class=tokenizer, reward_funcs=reward, args=config, train_dataset=data,
        callbacks=[Clock()],
    )  # fmt: skip
    trainer.train()
    Path(out).write_text(json.dumps(taken), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
