"""Lengths are those of the model's own template and tokenizer; without either nothing is measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from training.launch.prompt_length import conversation_length, token_count

TEMPLATE = (
    "{%- if tools %}{% for tool in tools %}tool {{ tool | tojson }} {% endfor %}{% endif -%}"
    "{% for message in messages %}{{ bos_token }} {{ message.role }} {{ message.content }} {% endfor %}"
    "{% if add_generation_prompt %}begin now{% endif %}"
)


def model_folder(root: Path, template: str = TEMPLATE) -> Path:
    """Return a folder with a tokenizer that counts words, and a template in the tokenizer's settings."""
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(root / "tokenizer.json"))
    config = {"chat_template": template, "bos_token": {"content": "<s>"}, "eos_token": None}
    (root / "tokenizer_config.json").write_text(json.dumps(config))
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one model folder for all tests."""
    return model_folder(tmp_path_factory.mktemp("model"))


@given(st.lists(st.integers(0, 20), min_size=1, max_size=5), st.integers(0, 3), st.booleans())
@settings(max_examples=40, deadline=None)
def test_every_word_of_every_part_counts(folder: Path, words: list[int], tools: int, answer_follows: bool) -> None:
    count = conversation_length(folder)
    assert count is not None
    messages = [{"role": "user", "content": "w " * n} for n in words]
    expected = sum(words) + 2 * len(words) + 2 * tools + 2 * answer_follows
    assert count(messages, [{"a": 1}["a"]] * tools, answer_follows) == expected


def test_a_template_file_wins_over_the_settings(tmp_path: Path) -> None:
    model_folder(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("just three words")
    count = conversation_length(tmp_path)
    assert count is not None and count([], [], True) == 3


def test_without_template_or_tokenizer_nothing_is_measured(tmp_path: Path) -> None:
    assert conversation_length(tmp_path) is None and token_count(tmp_path) is None
    model_folder(tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()
    assert conversation_length(tmp_path) is None


def test_a_template_cannot_reach_python(tmp_path: Path) -> None:
    count = conversation_length(model_folder(tmp_path, "{{ messages.__class__.__mro__ }}"))
    assert count is not None
    with pytest.raises(Exception, match="unsafe"):
        count([], [], False)
