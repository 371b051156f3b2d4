"""JSON read strictly: what can't be stored again just as it is, or has two meanings, is refused with its place.

Refused are NaN and the infinities, numbers beyond 64 bits or beyond a float, unpaired surrogates, nesting deeper than
`MAX_DEPTH`, and a name that stands twice in one object. A byte order mark before the value is skipped.
"""
from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from BFCL.parse.reading import MAX_DEPTH
from environment.core.calls import JsonValue
from environment.session.json_text import clean_text, is_list, is_object

LONGEST_INT = 20
"""Characters of the longest integer within 64 bits."""
BOM = "\ufeff"

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(rf'{_STRING}|[{{}}\[\],:]|[^\s{{}}\[\],:"]+', re.DOTALL)
_STRUCTURE = re.compile(rf'{_STRING}|["{{}}\[\]]', re.DOTALL)


class JsonTrouble(ValueError):
    """A text that is no JSON we take; `position` is a character of the text, `reason` the sentence for the model."""

    def __init__(self, reason: str, position: int, *, in_string: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.in_string = in_string
        """The text ended inside a string."""


def loads(text: str) -> JsonValue:
    """Return the value of a text; JsonTrouble where it is not taken."""
    if text.lstrip().startswith(BOM):
        text = text.replace(BOM, " ", 1)
    try:
        value = _DECODER.decode(text)
        if not text.isascii() or "\\u" in text or text.count("[") + text.count("{") > MAX_DEPTH:
            check_strings_and_depth(value)
    except json.JSONDecodeError as error:
        cut = error.msg.startswith("Unterminated string")
        raise JsonTrouble(f"not JSON: {error.msg} at character {error.pos}", error.pos, in_string=cut) from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise JsonTrouble(reason, _place(text)) from error
    return value


def balanced_end(text: str, start: int) -> int | None:
    """Return where the object or list that opens at `start` closes, None where it doesn't."""
    depth = 0
    for found in _STRUCTURE.finditer(text, start):
        sign = found[0]
        if sign == '"':
            return None
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
            if depth <= 0:
                return found.end()
    return None


def bounded_int(digits: str) -> int:
    """Return a whole number of at most 64 bits; ValueError beyond."""
    value = int(digits) if len(digits) <= LONGEST_INT else None
    if value is None or not -(2**63) <= value < 2**64:
        raise ValueError("number out of range")
    return value


def finite_float(digits: str) -> float:
    """Return a number a float can hold; ValueError beyond."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("number out of range")
    return value


def check_strings_and_depth(value: JsonValue) -> None:
    """Raise ValueError for an unpaired surrogate and RecursionError for nesting beyond `MAX_DEPTH`."""
    stack: list[tuple[JsonValue, int]] = [(value, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise RecursionError
        if is_object(node):
            stack += [(child, depth + 1) for pair in node.items() for child in pair]
        elif is_list(node):
            stack += [(child, depth + 1) for child in node]
        elif isinstance(node, str) and clean_text(node) != node:
            raise ValueError("unpaired surrogate in a string")


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        left = Counter(name for name, _ in pairs)
        twice = next(name for name, count in left.items() if count > 1)
        raise ValueError(f"duplicate key {json.dumps(twice[:60])}")
    return made


def _place(text: str) -> int:
    """Return where a text that is JSON in form can't be taken; 0 where no token says it."""
    names: list[set[str] | None] = []
    before = None
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in "{[":
            names.append(set() if sign == "{" else None)
            if len(names) > MAX_DEPTH + 1:
                return token.start()
        elif sign in "}]":
            names = names[:-1]
        elif sign == ":" and before is not None and names and names[-1] is not None:
            if before[0] in names[-1]:
                return before.start()
            names[-1].add(before[0])
        elif sign not in ",:" and _refused(sign):
            return token.start()
        before = token
    return 0


def _refused(sign: str) -> bool:
    try:
        check_strings_and_depth(
            json.loads(sign, parse_constant=_no_constant, parse_int=bounded_int, parse_float=finite_float)
        )
    except (ValueError, RecursionError):
        return True
    return False


_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, parse_int=bounded_int, parse_float=finite_float, object_pairs_hook=_object
)
