"""`ToolRlAgentLoop`: verl's agent loop around `environment.session.drive`, scored by our reward on the trajectory.

The score is set here (`reward_score`), so verl's reward workers have nothing to do; it lands on the last response
token. A rollout that the infrastructure failed is played again as often as `tool_rl.rollout.retries` says; if it fails
still, it carries an all-zero mask: it trains nothing and is counted as `void`.
"""
from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from BFCL.parse.hermes import parse_turn
from environment.core.task import Task
from environment.core.trajectory import StopReason, Trajectory
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import tool_functions
from environment.session.session import Session, describe
from environment.session.world import World
from training.reward.registry import Reward, reward
from training.reward.score import Score
from training.rollout.builder import token_builder
from training.rollout.facts import rollout_facts, turn_rewards
from training.rollout.seeds import rollout_seed
from training.rollout.tokens import Generated, Message, TokenPolicy
from training.tools.worlds import open_world

VOID = Score(score=0.0, components={}, acc=False, void=True)
"""What a rollout earns that the infrastructure failed: nothing, and nothing is learnt from it."""


@dataclass(frozen=True)
class _Played:
    """One attempt at a rollout."""

    policy: TokenPolicy | None
    trajectory: Trajectory
    score: Score
    turn_rewards: tuple[float, ...]


@functools.lru_cache(maxsize=4)
def _reward(kind: str, weights: str) -> Reward:
    return reward(kind, json.loads(weights))


class ToolRlAgentLoop(AgentLoopBase):
    """One rollout of one task against the cached world."""

    tokenizer: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.continuous_token_builder = token_builder(
            self.tokenizer, self.continuous_token_builder, self.apply_chat_template_kwargs
        )
        ours: DictConfig = self.config.tool_rl
        self.settings: dict[str, Any] = OmegaConf.to_container(ours, resolve=True)  # type: ignore[assignment]

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> AgentLoopOutput:
        """Play the episode of `extra_info.task` and return its tokens, mask, log-probs and score.

        Total: verl replaces a failed group by a new one for ever, so a failure is returned as a void rollout.
        """
        step, sample = int(kwargs.get("global_steps", -1)), int(kwargs.get("session_id", 0))
        retries = int((self.settings.get("rollout") or {}).get("retries", 0))
        attempt, played = 0, await self._play(sampling_params, kwargs, step, sample)
        while played.score.void and attempt < retries:
            attempt, played = attempt + 1, await self._play(sampling_params, kwargs, step, sample)
        facts = {**played.trajectory.meta, "step": step, "sample": sample, "attempt": attempt}
        facts["generate_s"] = round(played.policy.seconds, 3) if played.policy else 0.0
        trajectory = dataclasses.replace(played.trajectory, meta=facts)
        return rollout_output(
            trajectory, played.score, played.policy, self.tokenizer.eos_token_id, played.turn_rewards
        )

    async def _play(self, sampling_params: dict[str, Any], row: dict[str, Any], step: int, sample: int) -> _Played:
        """Play and score the episode of a row once."""
        policy, trajectory, score, by_turn = None, None, VOID, ()
        try:
            task = Task.from_json(json.loads(row["extra_info"]["task"]))
            world = open_world(self.settings["world_path"], self.settings["task"].get("schemas"))
            policy, session = self._episode(task, world, sampling_params, step, sample)
            trajectory = await drive(policy, session)
            judge = _reward(self.settings["reward"]["kind"], json.dumps(self.settings["reward"]["weights"]))
            by_turn = tuple(turn_rewards(trajectory, task, world.schemas))
            score = judge(trajectory, task, world.schemas)
        except Exception as error:  # the boundary where a failure of ours becomes data
            trajectory = trajectory or _broken(row, error)
        spans = tuple(policy.spans) if policy else ()
        return _Played(policy, dataclasses.replace(trajectory, spans=spans), score, by_turn)

    def _episode(
        self, task: Task, world: World, sampling_params: dict[str, Any], step: int, sample: int
    ) -> tuple[TokenPolicy, Session]:
        """Return the two sides of a rollout: who writes, and the episode it is written in."""
        seed = rollout_seed(self.settings["seed"], step, task.id, sample)
        limits, turn_tokens = self._limits()
        instructions = self.settings["task"].get("instructions")
        session = Session(
            task, world, world.schemas, limits, parse_turn, seed, count=self._count, instructions=instructions
        )
        # Ids are all that is read: without `detokenize` the engine would put every token into text as it comes.
        params = {**sampling_params, "seed": seed, "detokenize": False}
        engine = _VerlEngine(self, params, f"{task.id}-{sample}")
        tools = tool_functions(task, world.schemas)
        return TokenPolicy(engine, tools, self.rollout_config.response_length, turn_tokens), session

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


def rollout_output(
    trajectory: Trajectory, score: Score, policy: TokenPolicy | None, filler: int, by_turn: Sequence[float] = ()
) -> AgentLoopOutput:
    """Return a rollout as verl takes it.

    Args:
        policy: the token record; None where the rollout broke before it had one.
        filler: token id that stands where there is no prompt or no response; its mask is 0.
        by_turn: reward of each assistant turn.
    """
    prompt = policy.prompt if policy and policy.prompt else [filler]
    response = policy.response if policy and policy.response else [filler]
    blank = score.void or policy is None or not policy.response
    step = trajectory.meta.get("step")
    versions = {"min_global_steps": step, "max_global_steps": step}  # a rollout that sampled nothing has no other
    logged = {**score.as_log(), "void": float(score.void), "stop": str(trajectory.stop)}
    return AgentLoopOutput(
        prompt_ids=prompt,
        response_ids=response,
        response_mask=[0] * len(response) if blank or policy is None else policy.mask,
        response_logprobs=[0.0] * len(response) if blank or policy is None else policy.log_probs,
        reward_score=score.score,
        num_turns=len(trajectory.messages),
        metrics=AgentLoopMetrics(generate_sequences=policy.seconds if policy else 0.0),
        extra_fields={
            **versions,
            **(policy.extra if policy else {}),
            "turn_scores": list(by_turn),
            "tool_rewards": [],
            "facts": rollout_facts(trajectory),
            "reward_extra_info": logged,
            "trajectory": json.dumps(trajectory.to_json(), ensure_ascii=False),
        },
    )


def _broken(row: dict[str, Any], error: Exception) -> Trajectory:
    """Return the trajectory of a rollout that never began."""
    extra = row.get("extra_info")
    task_id = str(extra.get("task_id", "unknown")) if isinstance(extra, dict) else "unknown"
    meta: dict[str, Any] = {"turns": 0, "tokens": 0}
    return Trajectory(task_id, (), (), (), (), StopReason.INFRASTRUCTURE, error=describe(error), meta=meta)
