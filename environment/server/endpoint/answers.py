"""Reading a structured answer out of a chat reply: a JSON object of a known shape, or the reason why it is none.

Nothing is guessed: a reply that was cut, refused, isn't JSON or has another shape is `Unusable`. Only a code fence
around the object and a closed `<think>` block before it are taken off.
"""
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from environment.server.endpoint.failures import EndpointError

Shape = TypeVar("Shape", bound=BaseModel)

_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL)
_THINK = "</think>"
_SHOWN = 300


class Why(StrEnum):
    """Why a reply can't be used."""

    EMPTY = "empty"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    NO_JSON = "malformed_json"
    OTHER_SHAPE = "other_shape"


class Unusable(EndpointError):
    """A reply came, but not the answer that was asked for."""

    def __init__(self, why: Why, detail: str, text: str = "") -> None:
        super().__init__(f"the answer can't be used ({why}): {detail}", got=text[:_SHOWN] or None)
        self.why = why
        self.detail = detail
        self.text = text


def answer_text(reply: Mapping[str, Any]) -> str:
    """Return the text of a whole reply; Unusable where it was cut, refused or is empty."""
    choice = reply["choices"][0]
    message: Mapping[str, Any] = choice["message"]
    text = message_text(message)
    if choice.get("finish_reason") == "length":
        raise Unusable(Why.TRUNCATED, "it was cut at the token limit", text)
    if message.get("refusal"):
        raise Unusable(Why.REFUSED, str(message["refusal"])[:_SHOWN], text)
    if not text.strip():
        raise Unusable(Why.EMPTY, "it has no text", text)
    return text


def message_text(message: Mapping[str, Any]) -> str:
    """Return the text of a message, whose content is text, a list of parts, or nothing."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [cast("dict[str, Any]", part) for part in cast("list[Any]", content) if isinstance(part, dict)]
        return "".join(str(part.get("text", "")) for part in parts)
    return content if isinstance(content, str) else ""


def read_answer(text: str, shape: type[Shape]) -> Shape:
    """Return the object in a text; Unusable where there is none of this shape."""
    body = text.rpartition(_THINK)[2].strip()
    fenced = _FENCE.fullmatch(body)
    try:
        value: object = json.loads(fenced[1] if fenced else body)
    except (ValueError, RecursionError) as error:
        raise Unusable(Why.NO_JSON, str(error), text) from error
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise Unusable(Why.OTHER_SHAPE, f"{place}: {first['msg']}", text) from error
