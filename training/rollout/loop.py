"""`ToolRlAgentLoop`: verl's agent loop around `environment.session.drive`, scored by our reward on the trajectory.

The score is set here (`reward_score`), so verl's reward workers have nothing to do; it lands on the last response
token. A rollout that the infrastructure failed carries an all-zero mask: it trains nothing and is counted as `void`.
"""
from __future__ import annotations

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput
from verl.utils.tokenizer.continuous_token_wiring import create_continuous_token_builder

from BFCL.parse.hermes import parse_turn
from environment.booking.schemas import load_schemas
from environment.cache.store import CachedWorld
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import tool_functions
from environment.session.session import Session
from training.reward.registry import Reward, reward
from training.reward.score import Score
from training.rollout.seeds import rollout_seed
from training.rollout.tokens import Generated, Message, TokenPolicy


@functools.lru_cache(maxsize=4)
def _world(path: str, schema_path: str | None) -> CachedWorld:
    """Open a world once a process."""
    return CachedWorld.open(Path(path), load_schemas(Path(schema_path) if schema_path else None))


@functools.lru_cache(maxsize=4)
def _reward(kind: str, weights: str) -> Reward:
    return reward(kind, json.loads(weights))


class ToolRlAgentLoop(AgentLoopBase):
    """One rollout of one task against the cached world."""

    tokenizer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.continuous_token_builder.__class__.__name__ == "ContinuousTokenBuilder" and _is_chatml(self.tokenizer):
            # verl knows ChatML's newline after a turn for Qwen's model types only.
            self.continuous_token_builder = create_continuous_token_builder(
                self.tokenizer, model_family="qwen", chat_template_kwargs=self.apply_chat_template_kwargs
            )
        ours: DictConfig = self.config.tool_rl
        self.settings: dict[str, Any] = OmegaConf.to_container(ours, resolve=True)  # type: ignore[assignment]

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play the episode of `extra_info.task` and return its tokens, mask, log-probs and score."""
        task = Task.from_json(json.loads(kwargs["extra_info"]["task"]))
        world = _world(self.settings["world_path"], self.settings["task"].get("schemas"))
        step, sample = int(kwargs.get("global_steps", -1)), int(kwargs.get("session_id", 0))
        seed = rollout_seed(self.settings["seed"], step, task.id, sample)
        limits, turn_tokens = self._limits()
        session = Session(
            task,
            world,
            world.schemas,
            limits,
            parse_turn,
            seed,
            count=self._count,
            instructions=self.settings["task"].get("instructions"),
        )
        engine = _VerlEngine(self, {**sampling_params, "seed": seed}, f"{task.id}-{sample}")
        policy = TokenPolicy(
            engine, tool_functions(task, world.schemas), self.rollout_config.response_length, turn_tokens
        )
        trajectory = await drive(policy, session)
        facts = {**trajectory.meta, "step": step, "sample": sample}
        trajectory = dataclasses.replace(trajectory, spans=tuple(policy.spans), meta=facts)
        judge = _reward(self.settings["reward"]["kind"], json.dumps(self.settings["reward"]["weights"]))
        return _output(trajectory, judge(trajectory, task, world.schemas), policy)

    def _limits(self) -> tuple[Limits, int]:
        given = dict(self.settings["limits"])
        turn_tokens = given.pop("turn_tokens", None) or self.rollout_config.response_length
        return Limits(**given), int(turn_tokens)

    def _count(self, text: str) -> int:
        return len(self.tokenizer.encode(text, add_special_tokens=False))


class _VerlEngine:
    """The rollout server behind verl's client, and verl's continuous-token builder."""

    def __init__(self, loop: ToolRlAgentLoop, sampling_params: dict[str, Any], request_id: str) -> None:
        self._loop = loop
        self._params = sampling_params
        self._request_id = request_id

    async def opening(self, messages: list[Message], tools: list[dict[str, Any]]) -> list[int]:
        return await self._loop.ct_build_initial_tokens(messages, tools=tools)

    async def appended(
        self, known: list[Message], new: list[Message], tokens: list[int], tools: list[dict[str, Any]]
    ) -> list[int]:
        merged = self._loop.continuous_token_builder.merge_context_tokens(known, known + new, tokens, tools=tools)
        return merged.token_ids[len(tokens) :]

    async def generate(self, tokens: list[int], max_tokens: int) -> Generated:
        output = await self._loop.server_manager.generate(
            request_id=self._request_id,
            prompt_ids=tokens,
            sampling_params={**self._params, "max_tokens": max_tokens},
        )
        # A server that was interrupted reports no reason; a turn as long as its limit was cut.
        finished = len(output.token_ids) < max_tokens or output.token_ids[-1] == self._loop.tokenizer.eos_token_id
        return Generated(list(output.token_ids), output.log_probs, finished, output.extra_fields)

    def text(self, token_ids: list[int]) -> str:
        end = self._loop.tokenizer.eos_token_id
        body = token_ids[:-1] if token_ids and token_ids[-1] == end else token_ids
        return self._loop.tokenizer.decode(body, skip_special_tokens=False)


def _output(trajectory: Trajectory, score: Score, policy: TokenPolicy) -> AgentLoopOutput:
    if not policy.prompt:
        raise RuntimeError(f"task {trajectory.task_id}: no prompt was built: {trajectory.error}")
    response = policy.response or [policy.prompt[-1]]
    mask = [0] * len(response) if score.void or not policy.response else policy.mask
    logged = {**score.as_log(), "void": float(score.void), "stop": str(trajectory.stop)}
    return AgentLoopOutput(
        prompt_ids=policy.prompt,
        response_ids=response,
        response_mask=mask,
        response_logprobs=policy.log_probs or [0.0],
        reward_score=score.score,
        num_turns=len(trajectory.messages),
        metrics=AgentLoopMetrics(generate_sequences=policy.seconds),
        extra_fields={
            **policy.extra,
            "turn_scores": [],
            "tool_rewards": [],
            "reward_extra_info": logged,
            "trajectory": json.dumps(trajectory.to_json(), ensure_ascii=False),
        },
    )


def _is_chatml(tokenizer: Any) -> bool:
    return tokenizer.eos_token == "<|im_end|>"
