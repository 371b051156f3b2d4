"""A few-million-parameter Qwen3 with random weights: the whole stack in minutes, for tests and for trying changes.

It borrows SmolLM2's tokenizer, so nothing is downloaded and prompts are token for token those of `cpu_smol`; the tied
embedding (49 152 x 128) is most of its 7.4 million parameters.
"""
from __future__ import annotations

from pathlib import Path

from training.model.smol import save_tokenizer

HIDDEN, LAYERS, HEADS, KV_HEADS = 128, 4, 4, 2


def build(out: Path, seed: int = 0) -> Path:
    """Write a randomly initialised Qwen3 folder and return it; the same seed gives the same weights."""
    import torch
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    save_tokenizer(out)
    tokenizer = AutoTokenizer.from_pretrained(out)
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=HIDDEN,
        intermediate_size=4 * HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        head_dim=HIDDEN // HEADS,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=2,
        initializer_range=0.02,
    )
    model = Qwen3ForCausalLM(config).bfloat16()
    model.generation_config.eos_token_id = 2
    model.save_pretrained(out)
    return out
