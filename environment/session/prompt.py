"""The messages of an episode: one source for warm start, training and evaluation.

The format of calls and the list of tools come from the model's chat template, never from here.
"""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from environment.core.calls import JsonValue, ResultStatus, ToolCall
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.session.calling import answer_call, offered_tools
from environment.session.observation import Observation, ObservationCut, kept_keys
from environment.session.world import World

SYSTEM_PROMPT = "Use the tools step by step. Take ids from earlier results. Then answer in one sentence."
"""Kept short, for every prompt of every rollout pays for it."""

Message = dict[str, Any]
"""A chat message: `role` and `content`."""


def opening_messages(task: Task, instructions: str | None = None) -> list[Message]:
    """Return the system and the user message. `instructions` replaces `SYSTEM_PROMPT`; an empty text leaves it out."""
    system = SYSTEM_PROMPT if instructions is None else instructions
    head = [{"role": "system", "content": system}] if system else []
    return [*head, {"role": "user", "content": task.query}]


def tool_functions(task: Task, schemas: Mapping[str, ToolSchema]) -> list[dict[str, Any]]:
    """Return the tools on offer as OpenAI function objects, in the task's order."""
    return [schema.as_openai() for schema in offered_tools(task, schemas).values()]


def call_text(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return a call as a model writes it: one line of JSON between hermes tags."""
    body = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    return f"<tool_call>{body}</tool_call>"


def assistant_message(text: str) -> Message:
    """Return the message of an assistant turn, as written."""
    return {"role": "assistant", "content": text}


def tool_message(observation: Observation) -> Message:
    """Return the message of a tool's answer."""
    return {"role": "tool", "content": observation.text}


def gold_turns(task: Task) -> list[str]:
    """Return the assistant turns of the gold chain: one call a turn, then the answer if the task has one."""
    turns = [call_text(step.function, step.arguments) for step in task.steps]
    return [*turns, task.answer] if task.answer else turns


def gold_messages(task: Task, world: World, cut: ObservationCut, instructions: str | None = None) -> list[Message]:
    """Return the dialogue of the gold chain, one call a turn, just as `Session` would have it.

    The closing assistant message is left out where the task has no answer. DataError where the world
    refuses a gold call: such a task can't be learned from.
    """
    tools = offered_tools(task, world.schemas)
    messages = opening_messages(task, instructions)
    for turn, (step, text) in enumerate(zip(task.steps, gold_turns(task), strict=False)):
        answer = answer_call(ToolCall(f"t{turn}c0", turn, step.function, step.arguments, text), tools, world)
        if answer.status is not ResultStatus.OK:
            raise DataError(
                f"gold call of step {turn} fails: {answer.status}",
                where=f"task {task.id}",
                got=answer.value,
                expected="a call the world answers",
            )
        observation = cut(answer.value, kept_keys(tools[step.function]))
        messages += [assistant_message(text), tool_message(observation)]
    return [*messages, assistant_message(task.answer)] if task.answer else messages
