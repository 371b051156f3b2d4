"""`Prompting` and `Functions`: the two ways the leaderboard asks for calls.

    Prompting   functions stand in a system prompt, calls in the text, results in a message of the user
    Functions   functions go to the endpoint or the chat template, calls and results have messages of their own

Either reads a turn by the leaderboard's rule: the calls of it, or None where it can't be read as calls at all.
"""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from BFCL.check.ast.kinds import Language, language_of
from BFCL.data.rows import Document
from BFCL.parse.formats import reader
from BFCL.parse.one_call import write_call
from BFCL.parse.reading import Reading, reasoning_end
from BFCL.parse.whole import read_whole
from environment.session.prompt import Message, call_text
from evaluation.suite import ToolFunctions
from evaluation.suites.bfcl.official import more_functions, system_prompt
from evaluation.suites.bfcl.tools import as_function, described, tool_name

Calls = list[dict[str, dict[str, Any]]]
"""Decoded calls: function name → argument → value."""
Question = Sequence[Mapping[str, str]]


class Style(Protocol):
    """How a model is asked, and how what it writes is read."""

    def tools(self, offered: Sequence[Document], category: str) -> ToolFunctions:
        """Return what goes to the endpoint."""
        ...

    def opening(self, question: Question, offered: Sequence[Document], category: str) -> list[Message]:
        """Return the first messages."""
        ...

    def revealed(self, functions: Sequence[Document]) -> list[Message]:
        """Return what is said where functions appear."""
        ...

    def read(self, text: str, offered: Sequence[Document], category: str) -> Calls | None:
        """Return the calls of a turn, None where it can't be read as calls."""
        ...

    def results(self, calls: Sequence[str], observations: Sequence[str]) -> list[Message]:
        """Return the messages that tell what came of calls, as many observations as calls."""
        ...

    def write(self, calls: Calls, category: str) -> str:
        """Return a turn that makes calls, as a model would write it."""
        ...


@dataclass(frozen=True)
class Prompting:
    """Everything is text."""

    def tools(self, offered: Sequence[Document], category: str) -> ToolFunctions:
        """Return nothing: the endpoint is offered no tools."""
        return []

    def opening(self, question: Question, offered: Sequence[Document], category: str) -> list[Message]:
        """Return the system prompt and the question; a system message of the row's own follows the prompt in it."""
        prompt = system_prompt([described(document, category) for document in offered])
        messages = [dict(message) for message in question]
        if messages and messages[0]["role"] == "system":
            messages[0]["content"] = f"{prompt}\n\n{messages[0]['content']}"
            return messages
        return [{"role": "system", "content": prompt}, *messages]

    def revealed(self, functions: Sequence[Document]) -> list[Message]:
        """Return the functions and what the user says of them."""
        return [{"role": "user", "content": f"{[dict(function) for function in functions]}\n{more_functions()}"}]

    def read(self, text: str, offered: Sequence[Document], category: str) -> Calls | None:
        """Return the calls that the whole text is."""
        found = read_whole(text[reasoning_end(text) :], language_of(category))
        return None if found is None else [{name: dict(given)} for call in found for name, given in call.items()]

    def results(self, calls: Sequence[str], observations: Sequence[str]) -> list[Message]:
        """Return all results as one message of the user."""
        told = [
            {"role": "tool", "name": call, "content": seen} for call, seen in zip(calls, observations, strict=True)
        ]
        return [{"role": "user", "content": repr(told)}]

    def write(self, calls: Calls, category: str) -> str:
        """Return the calls as a list of the category's language."""
        python = language_of(category) is Language.PYTHON
        written = [write_call(*call) if python else _source_call(*call) for each in calls for call in each.items()]
        return f"[{', '.join(written)}]"


@dataclass(frozen=True)
class Functions:
    """Calls are function calls."""

    call_format: str = "hermes"
    """How the text of a turn writes them; `hermes` is also how an endpoint's own `tool_calls` come."""

    def tools(self, offered: Sequence[Document], category: str) -> ToolFunctions:
        """Return the functions on offer."""
        return [as_function(described(document, category)) for document in offered]

    def opening(self, question: Question, offered: Sequence[Document], category: str) -> list[Message]:
        """Return the question as it is."""
        return [dict(message) for message in question]

    def revealed(self, functions: Sequence[Document]) -> list[Message]:
        """Return what the user says; the functions themselves are offered with the next request."""
        return [{"role": "user", "content": more_functions()}]

    def read(self, text: str, offered: Sequence[Document], category: str) -> Calls | None:
        """Return the calls, by the names that the documents give the functions; one unreadable call voids all."""
        found: Reading = reader(self.call_format)(text)
        if not found.blocks or any(block.failure for block in found.blocks):
            return None
        names = {tool_name(document["name"]): document["name"] for document in offered}
        return [{names.get(block.name, block.name): block.arguments} for block in found.blocks]

    def results(self, calls: Sequence[str], observations: Sequence[str]) -> list[Message]:
        """Return a message of the tool a call."""
        return [{"role": "tool", "content": seen} for seen in observations]

    def write(self, calls: Calls, category: str) -> str:
        """Return the calls as blocks."""
        return "\n".join(call_text(tool_name(name), given) for call in calls for name, given in call.items())


def _source_call(name: str, arguments: Mapping[str, str]) -> str:
    plain = {key: value if '"' in value or "\\" in value else f'"{value}"' for key, value in arguments.items()}
    return f"{name}({', '.join(f'{key}={value}' for key, value in plain.items())})"
