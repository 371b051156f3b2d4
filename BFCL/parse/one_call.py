"""One call as the leaderboard's multi-turn rows and their answers write it: `sort('report.pdf')`, `ls(a=True)`.

Other than in a model's list of calls, arguments may be given by position here. They are literals all the same: the
syntax tree is walked and nothing is evaluated.
"""
from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from BFCL.parse.literals import Refused, literal
from BFCL.parse.python_calls import LONGEST, Unread, function_name, named_arguments, parsed
from environment.core.calls import JsonValue


@dataclass(frozen=True, slots=True)
class OneCall:
    """A call that could be read."""

    name: str
    """As written, dots included."""
    positional: list[JsonValue] = field(default_factory=list[JsonValue])
    keywords: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])


def write_call(name: str, arguments: Mapping[str, JsonValue]) -> str:
    """Return a call with named arguments as Python; `read_call` reads it back where the names are Python's."""
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def read_call(source: str) -> OneCall | str:
    """Return the call a text is, or in words why it is none. Lists come as lists, tuples too."""
    if len(source) > LONGEST:
        return f"longer than {LONGEST} characters"
    tree = parsed(source.strip())
    if isinstance(tree, Unread):
        return tree.reason
    try:
        return _call(tree)
    except Refused as error:
        return error.reason


def _call(tree: ast.expr) -> OneCall:
    name = function_name(tree)
    assert isinstance(tree, ast.Call)
    keywords = named_arguments(tree, "arguments can't be unpacked from a dict")
    return OneCall(name, [literal(argument) for argument in tree.args], keywords)
