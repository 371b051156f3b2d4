"""A rollout that breaks is a void rollout with its cause, never an exception: verl would replace its group for ever."""
from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)

from omegaconf import OmegaConf

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.core.task import GoldStep, Task
from environment.core.trajectory import StopReason, Trajectory
from environment.server.opening import write_reference
from environment.session.prompt import call_text
from training.reward.score import Score
from training.rollout.loop import VOID, ToolRlAgentLoop, _Played, rollout_output
from training.rollout.tokens import TokenPolicy

CONFIG = Path(__file__).parents[2] / "launch" / "config"
TOOL = "Search_Hotel_Destination"
TASK = Task("t1", "Find Oslo", (TOOL,), (GoldStep(TOOL, {"query": "Oslo"}),))


@pytest.fixture
def loop(tmp_path):
    made: Any = object.__new__(ToolRlAgentLoop)
    made.tokenizer = types.SimpleNamespace(eos_token_id=2)
    made.settings = {"world_path": str(tmp_path / "none.db"), "task": {}, "seed": 1, "limits": {}, "reward": {}}
    return made


@pytest.mark.parametrize("info", [{"task": json.dumps(TASK.to_json()), "task_id": "t1"}, {"task": "{"}, {}, None])
def test_a_broken_world_or_row_gives_a_void_rollout(loop, info):
    out = asyncio.run(loop.run({}, extra_info=info, global_steps=3, session_id=1))
    row = json.loads(out.extra_fields["trajectory"])
    assert row["stop"] == "infrastructure" and row["error"]
    assert out.extra_fields["reward_extra_info"]["void"] == 1.0
    assert out.reward_score == 0 and sum(out.response_mask) == 0
    assert len(out.prompt_ids) == len(out.response_ids) == len(out.response_logprobs) == 1
    assert out.extra_fields["min_global_steps"] == 3, "verl counts staleness from it"


def test_a_missing_world_is_named(loop):
    out = asyncio.run(loop.run({}, extra_info={"task": json.dumps(TASK.to_json())}, global_steps=1))
    assert "none.db" in json.loads(out.extra_fields["trajectory"])["error"]


def test_log_probs_are_never_made_up():
    unused: Any = None
    policy = TokenPolicy(unused, [], 50, 20)
    policy.prompt, policy.response, policy.mask, policy.log_probs = [5], [6], [1], None
    trajectory = Trajectory("t1", (), (), (), (), StopReason.ANSWER, meta={"step": 1})
    score = Score(score=1.0, components={}, acc=True)
    assert rollout_output(trajectory, score, policy, 2).response_logprobs is None
    assert rollout_output(trajectory, VOID, policy, 2).response_mask == [0]


SERVER = """
import sys
from pathlib import Path
from BFCL.parse.hermes import parse_turn
from environment.cache.store import CachedWorld
from environment.server.pool import SessionPool
from environment.server.run import ServerSettings, serve
pool = SessionPool(CachedWorld.open(Path(sys.argv[1])), parse_turn)
serve(pool, ServerSettings(port=0), ready=lambda host, port: print(port, flush=True))
"""


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A recorded world, and a reference to it behind a server that asks for a token."""
    path = tmp_path / "world.db"
    build_seed_cache(path, 3, WorldSize(cities=3, hotels=2, attractions=1, cars=1, destinations=1, dates=1))
    monkeypatch.setenv("TOOL_RL_SERVE_TOKEN", "a token of the test")
    process = subprocess.Popen([sys.executable, "-c", SERVER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = f"http://127.0.0.1:{int(process.stdout.readline())}"
        write_reference(tmp_path / "world.json", url, load_schemas())
        yield path, tmp_path / "world.json"
    finally:
        process.terminate()
        process.wait(20)


class Bytes:
    """A tokenizer of bytes, and the parts of verl's loop that stand on it; what the model writes is a script."""

    eos_token_id = 0

    def __init__(self, turns: list[str]) -> None:
        self._turns = iter(turns)

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return list(text.encode("utf-8", "replace"))

    def decode(self, tokens: list[int], skip_special_tokens: bool = False) -> str:
        return bytes(tokens).decode("utf-8", "replace")

    async def opening(self, messages: Any, tools: Any) -> list[int]:
        return self.encode(json.dumps([messages, tools]))

    def merge_context_tokens(self, known: Any, both: list[Any], tokens: list[int], tools: Any) -> Any:
        return types.SimpleNamespace(token_ids=tokens + self.encode(json.dumps(both[len(known) :])))

    async def generate(self, **asked: Any) -> Any:
        written = [*self.encode(next(self._turns)), self.eos_token_id]
        return types.SimpleNamespace(token_ids=written, log_probs=[0.0] * len(written), extra_fields={})


def rollout(world: Path, task: Task, turns: list[str]) -> Any:
    """Play an episode as training does, from opening the world to what verl is given."""
    made: Any = object.__new__(ToolRlAgentLoop)
    made.tokenizer = made.server_manager = made.continuous_token_builder = Bytes(turns)
    made.ct_build_initial_tokens = made.tokenizer.opening
    made.rollout_config = types.SimpleNamespace(response_length=20_000)
    reward: Any = OmegaConf.to_container(OmegaConf.load(CONFIG / "reward" / "graduated.yaml"))
    limits = {"max_turns": 9, "max_calls": 20, "max_tokens": 20_000, "max_seconds": 60.0, "max_invalid": 3,
              "parallel_calls": 4, "observation_tokens": 600}  # fmt: skip
    made.settings = {"world_path": str(world), "task": {}, "seed": 1, "limits": limits,
                     "reward": reward["tool_rl"]["reward"]}  # fmt: skip
    return asyncio.run(made.run({}, extra_info={"task": json.dumps(task.to_json())}, global_steps=1, session_id=0))


@pytest.mark.slow
def test_a_rollout_on_a_served_world_is_byte_for_byte_the_one_in_process(served):
    with CachedWorld.open(served[0]) as world:
        (first, _), (search, _) = (next(world.entries(tool)) for tool in (TOOL, "Search_Hotels"))
        tools = tuple(world.schemas)
    task = Task("t9", "Find a hotel.", tools, (GoldStep(TOOL, first), GoldStep("Search_Hotels", search, (0,))))
    turns = [
        call_text(TOOL, first),
        call_text("Search_Hotels", search) + call_text("Search_Hotels", {"dest_id": "ü"}),
        "<tool_call>{broken</tool_call>",
        call_text("Serch", {}) + call_text(TOOL, {"query": "nowhere at all"}),
        "There is one.",
    ]
    here, there = (rollout(path, task, turns) for path in served)
    texts = []
    for out in (here, there):
        row = json.loads(out.extra_fields.pop("trajectory"))
        assert row["stop"] == "answer" and row["meta"].pop("seconds") >= 0
        texts.append(json.dumps(row, ensure_ascii=False))
    assert texts[0].encode() == texts[1].encode()
    assert [r["status"] for r in json.loads(texts[0])["results"]][:2] == ["ok", "ok"]
    for name in ("prompt_ids", "response_ids", "response_mask", "reward_score", "num_turns", "extra_fields"):
        assert getattr(here, name) == getattr(there, name)
    assert here.reward_score > 0


@pytest.mark.slow
def test_a_reference_to_another_world_or_to_nobody_gives_void_rollouts_with_the_reason(served):
    row = json.loads(served[1].read_text())
    changes = ({"content_hash": "0" * 64}, {"url": "http://127.0.0.1:9"})
    for change, words in zip(changes, ("another world", "tool-rl serve"), strict=True):
        served[1].write_text(json.dumps({**row, **change}))
        out = rollout(served[1], TASK, [])
        assert out.extra_fields["reward_extra_info"]["void"] == 1.0
        assert words in json.loads(out.extra_fields["trajectory"])["error"]


def test_a_rollout_the_infrastructure_failed_is_played_again(loop, monkeypatch):
    """The second try succeeds: its trajectory and its score stand, and the number of the try is told."""
    fine = Trajectory("t1", (), (), (), (), StopReason.ANSWER, answer="Oslo")
    good = _Played(None, fine, Score(score=1.0, components={}, acc=True), (0.5,))
    bad = _Played(None, Trajectory("t1", (), (), (), (), StopReason.INFRASTRUCTURE, error="disk"), VOID, ())
    tries = [bad, good, bad]

    async def play(*_args):
        return tries.pop(0)

    monkeypatch.setattr(loop, "_play", play)
    loop.settings["rollout"] = {"retries": 2}
    out = asyncio.run(loop.run({}, extra_info={}, global_steps=3, session_id=1))
    row = json.loads(out.extra_fields["trajectory"])
    assert row["stop"] == "answer" and row["meta"]["attempt"] == 1 and len(tries) == 1
    assert out.extra_fields["turn_scores"] == [0.5]
    loop.settings["rollout"] = {"retries": 0}
    out = asyncio.run(loop.run({}, extra_info={}, global_steps=3, session_id=1))
    assert out.extra_fields["reward_extra_info"]["void"] == 1.0
