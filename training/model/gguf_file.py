"""One pass over a GGUF file of a Llama model: configuration, weights and tokenizer.

`transformers` reads such files too, but walks the 98 000 strings of this vocabulary five times over, half a minute of
the main job. Only what the one shipped file needs is read: no rope factors, no second output matrix, byte-level BPE.
"""
from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from environment.core.errors import ConfigError

SPECIAL = 3
"""The token type that GGUF gives to control tokens."""

LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_NAMES = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


@dataclass(frozen=True)
class LlamaShape:
    """The numbers of a Llama model, under the names `transformers.LlamaConfig` has for them."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    rms_norm_eps: float
    rope_theta: float


class LlamaFile:
    """A GGUF file, opened."""

    def __init__(self, path: Path) -> None:
        from gguf import GGUFReader

        self._path = path
        try:
            self._reader = GGUFReader(path)
        except (OSError, ValueError, IndexError) as error:
            raise ConfigError("no readable GGUF file", where=str(path), got=str(error)) from error
        if self._text("general.architecture") != "llama":
            architecture = self._text("general.architecture")
            raise ConfigError("no Llama model", where=str(path), got=architecture, expected="architecture llama")

    def shape(self) -> LlamaShape:
        """Return the model's numbers."""
        heads = int(self._number("llama.attention.head_count"))
        return LlamaShape(
            vocab_size=len(self._field("tokenizer.ggml.tokens").data),
            hidden_size=int(self._number("llama.embedding_length")),
            intermediate_size=int(self._number("llama.feed_forward_length")),
            num_hidden_layers=int(self._number("llama.block_count")),
            num_attention_heads=heads,
            num_key_value_heads=int(self._number("llama.attention.head_count_kv")),
            max_position_embeddings=int(self._number("llama.context_length")),
            rms_norm_eps=self._number("llama.attention.layer_norm_rms_epsilon"),
            rope_theta=self._number("llama.rope.freq_base"),
        )

    def weights(self) -> dict[str, Any]:
        """Return every tensor, dequantised to bf16, under its name in `transformers`. The output is the embedding."""
        import torch
        from gguf import dequantize

        shape, found = self.shape(), {}
        heads = {"attn_q": shape.num_attention_heads, "attn_k": shape.num_key_value_heads}
        for tensor in self._reader.tensors:
            values = torch.from_numpy(dequantize(tensor.data, tensor.tensor_type).copy())
            part = tensor.name.split(".")[-2]
            if part in heads:
                values = _half_rotated(values, heads[part])
            found[self._name(tensor.name)] = values.to(torch.bfloat16)
        return found

    def tokenizer(self) -> Any:
        """Return the byte-level BPE as a `tokenizers.Tokenizer`; digits are split one by one."""
        from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

        tokens = self._texts("tokenizer.ggml.tokens")
        merges = [tuple(line.split(" ", 1)) for line in self._texts("tokenizer.ggml.merges")]
        made = Tokenizer(models.BPE({token: n for n, token in enumerate(tokens)}, merges, fuse_unk=True))
        kinds = self._numbers("tokenizer.ggml.token_type")
        special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == SPECIAL]
        made.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
        digits = pre_tokenizers.Digits(individual_digits=True)
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=True)
        made.pre_tokenizer = pre_tokenizers.Sequence([digits, bytes_])
        made.decoder = decoders.ByteLevel()
        return made

    def _name(self, name: str) -> str:
        if name in TOP_NAMES:
            return TOP_NAMES[name]
        block, layer, part, kind = name.split(".")
        if block != "blk" or part not in LAYER_NAMES:
            raise ConfigError("an unknown tensor", where=str(self._path), got=name, expected="a plain Llama model")
        return f"model.layers.{layer}.{LAYER_NAMES[part]}.{kind}"

    def _field(self, key: str) -> Any:
        field = self._reader.get_field(key)
        if field is None:
            raise ConfigError("an incomplete GGUF file", where=str(self._path), expected=key)
        return field

    def _number(self, key: str) -> float:
        return self._numbers(key)[0]

    def _numbers(self, key: str) -> list[float]:
        field = self._field(key)
        return [field.parts[place].item() for place in field.data]

    def _text(self, key: str) -> str:
        return self._texts(key)[0]

    def _texts(self, key: str) -> list[str]:
        field = self._field(key)
        return [field.parts[place].tobytes().decode("utf-8") for place in field.data]


def _half_rotated(weights: Any, heads: int) -> Any:
    """Undo the order of rotary pairs in GGUF: even and odd side by side, not the first half before the second."""
    width = weights.shape[0] // heads // 2
    return weights.reshape(heads, width, 2, -1).transpose(1, 2).reshape(weights.shape)
