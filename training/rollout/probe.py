"""A look at the first row before anything is started: does the model get what we think it gets?

Three promises that a chat template can break in silence, each tried on a dialogue of the row's own task (system, user,
a call, a reply, a second call, a reply):

* *offered*: every tool of the task stands in the rendered prompt, and the prompt changes when the tools are left out;
* *append-only*: each prompt of the dialogue begins with the prompt before it (templates that rewrite calls or strip
  what was said break this), so that the tokens kept from earlier turns are those of the dialogue;
* *same ids*: the incremental tokens of a rollout equal those of rendering the whole dialogue at once.
"""
from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from environment.booking.schemas import load_schemas
from environment.core.errors import StageError
from environment.core.task import Task
from environment.session.prompt import Message, call_text, opening_messages, tool_functions
from environment.session.session import describe

FIX = (
    "give the model folder a chat_template.jinja that holds (training/model/template.py has one), "
    "or go on as it is with tool_rl.rollout.probe=false"
)
REPLY = '{"status": true, "data": [{"id": "x-17", "name": "Ostrava"}]}'
"""A reply with what tokenizers like to merge: braces, quotes, digits."""


class Renderer:
    """Renders dialogues for a model, whole and step by step."""

    def __init__(self, tokenizer: Any, builder: Any, template_kwargs: dict[str, Any] | None = None) -> None:
        """Take a tokenizer and the builder of incremental tokens that rollouts use."""
        self._tokenizer = tokenizer
        self._builder = builder
        self._kwargs = dict(template_kwargs or {})

    def text(self, messages: Sequence[Message], tools: list[dict[str, Any]], *, prompt: bool) -> str:
        """Return a dialogue as text, with the head of the next assistant turn if it is a prompt."""
        given = {"tools": tools or None, "add_generation_prompt": prompt, "tokenize": False, **self._kwargs}
        return str(self._tokenizer.apply_chat_template(list(messages), **given))

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a rendered text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def words(self, ids: Sequence[int]) -> str:
        """Return the text of some tokens."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    def incremental(self, messages: Sequence[Message], tools: list[dict[str, Any]]) -> list[int]:
        """Return the tokens of a dialogue that ends with a reply, built as a rollout builds them."""
        first = next(i for i, message in enumerate(messages) if message["role"] == "assistant")
        tokens = list(self._builder.build_initial_tokens(list(messages[:first]), tools=tools))
        for i in range(first, len(messages), 2):
            tokens += [*self.ids(messages[i]["content"]), self._tokenizer.eos_token_id]
            known, more = list(messages[: i + 1]), list(messages[: i + 2])
            tokens = list(self._builder.merge_context_tokens(known, more, tokens, tools=tools).token_ids)
        return tokens


def probe_dialogue(task: Task, instructions: str | None = None) -> list[Message]:
    """Return a dialogue of the task with two calls of it (or of its tools) and a reply to each."""
    calls = [call_text(step.function, step.arguments) for step in task.steps] or [call_text(task.tools[0], {})]
    turns = [calls[0], calls[-1]]
    replies: list[Message] = [{"role": "tool", "content": REPLY}] * 2
    said: list[Message] = [{"role": "assistant", "content": text} for text in turns]
    return [*opening_messages(task, instructions), said[0], replies[0], said[1], replies[1]]


def check_renderer(renderer: Renderer, task: Task, tools: list[dict[str, Any]], instructions: str | None) -> None:
    """Raise StageError naming the promise that the model's template breaks, and where."""
    messages = probe_dialogue(task, instructions)
    _offered(renderer, messages, tools)
    _append_only(renderer, messages, tools)
    whole = renderer.ids(renderer.text(messages, tools, prompt=True))
    steps = renderer.incremental(messages, tools)
    at = _first_difference(whole, steps)
    if at is not None:
        raise StageError(
            f"the tokens of a rollout differ from those of its dialogue at token {at}",
            where="chat template",
            got=renderer.words(steps[max(at - 5, 0) : at + 5]),
            expected=repr(renderer.words(whole[max(at - 5, 0) : at + 5])),
            fix=FIX,
        )


def _offered(renderer: Renderer, messages: list[Message], tools: list[dict[str, Any]]) -> None:
    opening = [m for m in messages if m["role"] in ("system", "user")]
    shown, bare = renderer.text(opening, tools, prompt=True), renderer.text(opening, [], prompt=True)
    missing = [tool["function"]["name"] for tool in tools if tool["function"]["name"] not in shown]
    if tools and (missing or shown == bare):
        raise StageError(
            "the chat template does not show the model its tools",
            where="chat template",
            got=f"a prompt without {', '.join(missing) or 'any tool'}",
            expected="every tool of the task, by name",
            fix=FIX,
        )


def _append_only(renderer: Renderer, messages: list[Message], tools: list[dict[str, Any]]) -> None:
    ends = [n for n in range(1, len(messages) + 1) if n == len(messages) or messages[n]["role"] == "assistant"]
    prompts = [renderer.text(messages[:n], tools, prompt=True) for n in ends]
    for number, (shorter, longer) in enumerate(itertools.pairwise(prompts)):
        if not longer.startswith(shorter):
            at = _first_difference(shorter, longer) or 0
            raise StageError(
                f"the chat template rewrites earlier messages once message {ends[number + 1]} is there",
                where="chat template",
                got=longer[max(at - 40, 0) : at + 40],
                expected=f"{shorter[max(at - 40, 0) : at + 40]!r}, as before",
                fix=FIX,
            )


def _first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """Return the first place where two sequences differ, None where they are equal."""
    for place, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return place
    return None if len(one) == len(other) else min(len(one), len(other))


def probe_dataset(rows: Any, tokenizer: Any, config: Any) -> None:
    """Check the renderer on the first training row; rows of other agent loops are left alone.

    Raises:
        StageError: a promise of the module does not hold, or the row holds no task.
    """
    from training.rollout.builder import builder_for

    ours = config.tool_rl
    if config.actor_rollout_ref.rollout.agent.default_agent_loop != "tool_rl_agent" or not _wanted(ours):
        return
    task = _first_task(rows)
    schemas = load_schemas(Path(ours.task.schemas) if ours.task.get("schemas") else None)
    kwargs = dict(config.data.get("apply_chat_template_kwargs") or {})
    builder = builder_for(tokenizer, _model_type(Path(config.actor_rollout_ref.model.path)), kwargs)
    tools, instructions = tool_functions(task, schemas), ours.task.get("instructions")
    check_renderer(Renderer(tokenizer, builder, kwargs), task, tools, instructions)


def _wanted(ours: Any) -> bool:
    return bool((ours.get("rollout") or {}).get("probe", True))


def _first_task(rows: Any) -> Task:
    where, fix = "first training row", "make the rows with `tool-rl preprocess`"
    try:
        task = Task.from_json(json.loads(rows[0]["extra_info"]["task"]))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise StageError(f"holds no task ({describe(error)})", where=where, fix=fix) from error
    if not task.tools:
        raise StageError("its task offers no tool", where=f"{where}, task {task.id}", fix=fix)
    return task


def _model_type(folder: Path) -> str | None:
    """Return the type that a model folder names; None where it names none."""
    try:
        found = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, str) else None
