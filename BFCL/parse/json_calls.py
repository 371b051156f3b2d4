"""One JSON text to one call: `{"name": ..., "arguments": {...}}`, whatever marks stand around it."""
from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from BFCL.parse.reading import Block, Failure
from BFCL.parse.strict_json import JsonTrouble, loads
from environment.core.calls import JsonValue, ParseStatus
from environment.session.json_text import is_list, is_object

_NAME = re.compile(r'"name"\s*:\s*"([^"\\]{1,100})"')


@dataclass(frozen=True, slots=True)
class Body:
    """What was read between two marks."""

    status: ParseStatus
    name: str = ""
    arguments: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    problem: str | None = None
    position: int = 0
    """Character of the body at which reading went wrong."""
    cut_in_string: bool = False
    """The text ended inside a string: the closing mark may be part of it."""

    def block(self, start: int, end: int, raw: str, raw_start: int) -> Block:
        """Return the block of a text that this is the body of; `raw_start` is where the body begins in it."""
        failure = None if self.problem is None else Failure(self.status, raw_start + self.position, self.problem)
        return Block(start, end, raw, self.name, self.arguments, failure)


def read_call(raw: str, keys: Sequence[str] = ("arguments",)) -> Body:
    """Read the text of one call; `keys` are the names its arguments may have, the usual one first."""
    try:
        value = loads(raw)
    except JsonTrouble as error:
        name, cut = legible_name(raw), error.in_string
        return Body(ParseStatus.MALFORMED_JSON, name, {}, error.reason, error.position, cut)
    return understand(value, keys)


def understand(value: JsonValue, keys: Sequence[str] = ("arguments",)) -> Body:
    """Turn a JSON value into a call, if it is one. Arguments may be an object written as a string."""
    expected = f'expected {{"name": ..., "{keys[0]}": {{...}}}}'
    if not is_object(value):
        return Body(ParseStatus.NOT_A_CALL, problem=f"{_kind(value)} is not a call; {expected}")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        return Body(ParseStatus.NOT_A_CALL, problem=f"no name; {expected}")
    key = next((k for k in keys if k in value), None)
    if key is None:
        return Body(ParseStatus.NOT_A_CALL, name, problem=f"no {keys[0]}; {expected}")
    arguments = value[key]
    if isinstance(arguments, str):
        arguments = _object_in(arguments)
    if not is_object(arguments):
        return Body(ParseStatus.NOT_A_CALL, name, problem=f"{key} must be an object; {expected}")
    return Body(ParseStatus.OK, name, arguments)


def legible_name(raw: str) -> str:
    """Return the name in a text that is no JSON, where one can be made out."""
    found = _NAME.search(raw)
    return found[1] if found else ""


def _object_in(text: str) -> JsonValue:
    """Return the value of arguments written as a JSON string; None where it holds no JSON."""
    try:
        return loads(text)
    except JsonTrouble:
        return None


def _kind(value: JsonValue) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return "a list" if is_list(value) else "a string" if isinstance(value, str) else "a number"
