"""What a model wrote, in lengths a page can carry: words apart from calls, values as one line of JSON."""
from __future__ import annotations

import json
import re
from typing import Any

LONGEST = 2400
"""Characters of one text that are shown unless another length is asked for."""
_BLOCK = re.compile(r"<tool_call>.*?(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)


def words_outside_calls(content: str) -> str:
    """Return what an assistant turn says besides its calls."""
    return _BLOCK.sub("", content).strip()


def compact(value: Any, most: int = LONGEST) -> str:
    """Return a value as one line of JSON, cut to a length."""
    try:
        return short(json.dumps(value, ensure_ascii=False), most)
    except RecursionError:
        return "(nested too deeply to be shown)"


def clip(words: str, most: int) -> str:
    """Return the beginning of a text, in one line."""
    line = " ".join(words[: 2 * most + 100].split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def short(words: str, most: int = LONGEST) -> str:
    """Return a text cut to a length, saying how much is left out."""
    return words if len(words) <= most else f"{words[:most]} … ({len(words) - most} more characters)"
