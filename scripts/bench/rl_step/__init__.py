"""One GRPO step on a CPU: ours (verl, FSDP2, vLLM) beside TRL's `GRPOTrainer`, same model, prompts and lengths."""
