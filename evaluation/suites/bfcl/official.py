"""Texts of the leaderboard that a model is shown word for word, read from its installed package at run time.

Scores can only be compared where the prompt is the same, and its sentences are not ours to keep. They are the literal
assignments of one file, found in its syntax tree; nothing of the file is run.
"""
from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from BFCL.data.package import home
from environment.core.errors import DataError

FILE = "constants/default_prompts.py"
MAX_STEPS = 20
"""Steps of one turn; a model that makes one more is cut off."""


def system_prompt(functions: Sequence[Mapping[str, Any]]) -> str:
    """Return the system prompt of prompting: who you are, how calls are written, what is on offer."""
    style = _text("PROMPT_STYLE_TEMPLATES")["classic"]
    tool_call = style["tool_call_no_tag"].format(
        output_format=_text("OUTPUT_FORMAT_MAPPING")["python"], param_types=_text("PARAM_TYPE_MAPPING")["python"]
    )
    offered = style["available_tools"].format(format="json", functions=json.dumps(list(functions), indent=4))
    return _text("_PLAINTEXT_SYSTEM_PROMPT_TEMPLATE").format(
        persona=style["persona"],
        task=style["task"],
        tool_call_format=tool_call,
        multiturn_behavior=style["multiturn_behavior"],
        available_tools=offered,
    )


def more_functions() -> str:
    """Return what the user says where functions appear that were held back."""
    return _text("DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC")


def _text(name: str) -> Any:
    found = _assigned()
    if name not in found:
        raise DataError(f"the leaderboard's package has no {name}", where=str(home() / FILE), expected="a literal")
    return found[name]


@lru_cache(maxsize=1)
def _assigned() -> Mapping[str, Any]:
    """Return the literal assignments of the file."""
    found: dict[str, Any] = {}
    for node in ast.parse((home() / FILE).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            try:
                found[node.targets[0].id] = ast.literal_eval(node.value)
            except ValueError:
                continue
    return found
