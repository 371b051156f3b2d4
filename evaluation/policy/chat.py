"""`RawPolicy` and `NativePolicy`: an episode's conversation with an endpoint, as the episode loop's policy.

`raw` is for models we serve ourselves: tools go to the chat template, `tool_choice` is "none" so that the server leaves
the text alone, and what the model wrote, `<tool_call>` blocks included, returns to it word for word as plain content.
`native` is for any other endpoint: the server parses, and its `tool_calls` objects are written as the same blocks, so
that one parser reads both.
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Protocol

from environment.server.endpoint.answers import message_text
from environment.server.endpoint.chat import Endpoint
from environment.server.endpoint.failures import TooLong
from environment.session.turns import AssistantTurn

NEUTRAL = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}
"""Sent to our own servers, so that no default of a model folder bends the distribution."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen. Temperature 0 is greedy."""

    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    """Of one assistant turn."""
    seed: int | None = None

    def body(self) -> dict[str, Any]:
        """Return the request keys; a seed of None is left out, as some endpoints refuse it."""
        body: dict[str, Any] = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": self.max_tokens}
        return body if self.seed is None else {**body, "seed": self.seed}


@dataclass
class Usage:
    """Tokens of one episode: `prompt` counts every request's whole prompt, cached or not."""

    prompt: int = 0
    completion: int = 0
    requests: int = 0

    def add(self, reply: dict[str, Any]) -> int:
        """Count a reply's tokens and return those it generated; an endpoint that reports none counts as 0."""
        usage = reply.get("usage") or {}
        generated = int(usage.get("completion_tokens") or 0)
        self.prompt += int(usage.get("prompt_tokens") or 0)
        self.completion += generated
        self.requests += 1
        return generated


class CountingPolicy(Protocol):
    """A policy that knows what it used."""

    usage: Usage
    tools: list[dict[str, Any]]
    """Tools on offer from the next turn on, as OpenAI function objects; may be replaced between turns."""

    async def act(self, new_messages: list[dict[str, Any]]) -> AssistantTurn:
        """Return the assistant's next turn, given what was said since its last."""
        ...


@dataclass
class RawPolicy:
    """One episode with a model whose text we read ourselves."""

    endpoint: Endpoint
    tools: list[dict[str, Any]]
    sampling: Sampling
    usage: Usage = field(default_factory=Usage)
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def act(self, new_messages: list[dict[str, Any]]) -> AssistantTurn:
        """Return the model's next turn, word for word; a prompt beyond its context is a truncated, empty turn."""
        self.messages += new_messages
        tools = {"tools": self.tools, "tool_choice": "none"} if self.tools else {}
        try:
            reply = await self.endpoint.chat({"messages": self.messages, **tools, **self.sampling.body(), **NEUTRAL})
        except TooLong:
            return AssistantTurn("", 0, True)
        text = message_text(reply["choices"][0]["message"])
        self.messages.append({"role": "assistant", "content": text})
        return AssistantTurn(text, self.usage.add(reply), reply["choices"][0].get("finish_reason") == "length")


@dataclass
class NativePolicy:
    """One episode with an endpoint that parses calls itself."""

    endpoint: Endpoint
    tools: list[dict[str, Any]]
    sampling: Sampling
    usage: Usage = field(default_factory=Usage)
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _waiting: list[str] = field(default_factory=list[str])
    """Ids of the calls of the last turn that no tool message has answered yet, in order."""

    async def act(self, new_messages: list[dict[str, Any]]) -> AssistantTurn:
        """Return the endpoint's next turn, its calls written as `<tool_call>` blocks."""
        self.messages += [self._addressed(m) for m in new_messages]
        tools = {"tools": self.tools, "tool_choice": "auto"} if self.tools else {}
        try:
            reply = await self.endpoint.chat({"messages": self.messages, **tools, **self.sampling.body()})
        except TooLong:
            return AssistantTurn("", 0, True)
        message = reply["choices"][0]["message"]
        calls = [_call(c, i) for i, c in enumerate(message.get("tool_calls") or ())]
        content = message_text(message)
        said: dict[str, Any] = {"role": "assistant", "content": content or None if calls else content}
        self.messages.append({**said, "tool_calls": calls} if calls else said)
        self._waiting = [c["id"] for c in calls]
        blocks = [content.replace("<tool_call>", "&lt;tool_call&gt;"), *(_block(c) for c in calls)]
        text = "\n".join(b for b in blocks if b)
        return AssistantTurn(text, self.usage.add(reply), reply["choices"][0].get("finish_reason") == "length")

    def _addressed(self, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("role") != "tool":
            return message
        if not self._waiting:
            return {"role": "user", "content": message["content"]}
        return {"role": "tool", "tool_call_id": self._waiting.pop(0), "content": message["content"]}


def _call(call: Any, position: int) -> dict[str, Any]:
    function = call.get("function") or {} if isinstance(call, dict) else {}
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments if arguments is not None else {})
    name = str(function.get("name") or "")
    identity = str(call.get("id") or f"call_{position}") if isinstance(call, dict) else f"call_{position}"
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": text}}


def _block(call: dict[str, Any]) -> str:
    """Write a call as a block; argument text that isn't JSON stays as it is, for the parser to report."""
    function = call["function"]
    arguments = function["arguments"].replace("</tool_call>", "<\\/tool_call>") or "{}"
    return f'<tool_call>{{"name": {json.dumps(function["name"])}, "arguments": {arguments}}}</tool_call>'
