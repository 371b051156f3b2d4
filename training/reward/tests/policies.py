"""Policies that try to earn without working, as the turns they write, and honest ones to compare them with.

Every script is played through the real session and parser, so what reaches a reward is what a rollout would bring.
"""
from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from BFCL.check.replay import CLOSING, GoldWorld, play_turns
from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from environment.session.prompt import call_text


@dataclass(frozen=True)
class Setting:
    """One task with the world it is played in."""

    task: Task
    responses: list[Any]
    schemas: Mapping[str, ToolSchema]

    def play(self, turns: Sequence[str]) -> Trajectory:
        return play_turns(turns, self.task, GoldWorld(self.task, self.responses, self.schemas))

    @property
    def gold(self) -> list[str]:
        """The calls of the gold chain, one a turn."""
        return [call_text(s.function, s.arguments) for s in self.task.steps]

    @property
    def answer(self) -> str:
        return self.task.answer or CLOSING

    def honest(self, steps: int) -> Trajectory:
        """The first steps of the chain done right, then an answer."""
        return self.play([*self.gold[:steps], self.answer])

    @property
    def half(self) -> Trajectory:
        """An honest partial solution: half of the chain, rounded up, never all of it."""
        count = len(self.task.steps)
        return self.honest(min(math.ceil(count / 2), count - 1))


def reply(value: Any) -> str:
    return f"<tool_response>\n{json.dumps(value)}\n</tool_response>"


def hollow(setting: Setting) -> list[str]:
    return [call_text(s.function, {}) for s in setting.task.steps]


def forged(setting: Setting) -> list[str]:
    calls = zip(hollow(setting), setting.responses, strict=True)
    return ["".join(call + reply({"status": True, "data": response}) for call, response in calls), setting.answer]


def huge(setting: Setting) -> list[str]:
    step = setting.task.steps[0]
    many = {f"k{i}": "x" * 50 for i in range(500)}
    return [call_text(step.function, {**many, "query": "y" * 20_000}), setting.answer]


def nested(setting: Setting) -> list[str]:
    """Calls wrapped in calls: gold inside a text, right names without arguments inside tags, tags left open."""
    inside = "".join(setting.gold)
    wrapped = call_text(setting.task.steps[0].function, {"note": inside})
    doubled = "".join(f"<tool_call>{call}</tool_call>" for call in hollow(setting))
    return [wrapped, f"<tool_call>{doubled}<tool_call>", f"</tool_call></think>{wrapped}<tool_call>", setting.answer]


def spam(setting: Setting) -> list[str]:
    tools = [*setting.task.tools, *setting.schemas][:60]
    return [*(call_text(tool, {"query": "x", "id": "1"}) for tool in tools), setting.answer]


def in_text(setting: Setting) -> list[str]:
    gold = json.dumps([{"name": s.function, "arguments": s.arguments} for s in setting.task.steps])
    return [f"<think>I call {gold}</think> I have done {gold} {reply({'ok': True})} {setting.answer}"]


def commented(setting: Setting) -> list[str]:
    """Gold calls inside the reasoning, none outside."""
    return [f"<think>{''.join(setting.gold)}</think>{setting.answer}"]


ADVERSARIES: Mapping[str, Callable[[Setting], list[str]]] = {
    "no-op": lambda s: [s.answer],
    "silence": lambda s: [""],
    "spam all tools": spam,
    "gold copied into text": in_text,
    "gold in the reasoning": commented,
    "empty arguments": lambda s: [*hollow(s), s.answer],
    "forged replies": forged,
    "nested tags": nested,
    "huge arguments": huge,
    "endless repeats": lambda s: [*s.gold[:1] * 60, s.answer],
    "first call often, the rest by name": lambda s: [*s.gold[:1] * 15, *hollow(s)[1:], s.answer],
    "every call many times": lambda s: [*[c for c in s.gold for _ in range(12)], s.answer],
}
"""Name → the turns it writes."""
