"""A small grammar of sentences, so that a few lines say one thing in thousands of ways.

    [a|b|]      one of the alternatives, possibly none
    <name>      the phrase of that name; `name.tone` comes first where the phrases have it
    {slot}      a value in words; {slot:noun} hands a noun to what renders it

`parse` is cached; `expand` takes all chance from the `Random` it is given.
"""
from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from environment.core.errors import DataError, nearest_name

_TOKEN = re.compile(r"[\[\]|]|<[\w.]+>|\{\w+(?::[^{}]*)?\}|[^\[\]|<{]+")
_MAX_DEPTH = 12

Render = Callable[[str, str], str]
"""(slot, noun) → text."""


@dataclass(frozen=True)
class _Choice:
    alternatives: tuple[tuple[_Node, ...], ...]


_Node = str | _Choice


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[_Node, ...]:
    """Return the tree of a sentence; DataError where brackets don't match."""
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != text:
        raise DataError(
            "a sentence can't be read", where="template grammar", got=text, expected="[a|b], <name>, {slot} and text"
        )
    nodes, rest = _sequence(tokens, 0, text, depth=0)
    if rest != len(tokens):
        raise DataError("a bracket or bar stands alone", where="template grammar", got=text)
    return nodes


def expand(text: str, phrases: Mapping[str, str], tone: str, rng: random.Random, render: Render) -> str:
    """Return one reading of a sentence, with every space and capital in place."""
    return tidy(part(text, phrases, tone, rng, render))


def part(text: str, phrases: Mapping[str, str], tone: str, rng: random.Random, render: Render) -> str:
    """Return one reading of a part of a sentence, to be put into another and tidied there."""
    return _expand(parse(text), phrases, tone, rng, render, 0)


def tidy(text: str) -> str:
    """Return text with single spaces, none before punctuation, no doubled commas, and capitals after full stops."""
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s+([,.;:!?])", r"\1", text)
    text = re.sub(r",(\s*,)+", ",", text)
    text = re.sub(r",\s*([.!?])", r"\1", text)
    text = re.sub(r"([.!?])(\s*\.)+", r"\1", text)
    text = re.sub(r"^[,.;:\s]+", "", text)
    return re.sub(r"(^|[.!?]\s+)([a-z])", lambda m: m[1] + m[2].upper(), text)


def slots(text: str, phrases: Mapping[str, str]) -> set[str]:
    """Return the names of all slots a sentence can reach."""
    found: set[str] = set()
    seen: set[str] = set()
    todo = [text]
    while todo:
        current = todo.pop()
        found.update(re.findall(r"\{(\w+)", current))
        for name in re.findall(r"<([\w.]+)>", current):
            if name not in seen:
                seen.add(name)
                todo += [value for key, value in phrases.items() if key == name or key.startswith(f"{name}.")]
    return found


def _sequence(tokens: list[str], at: int, text: str, depth: int) -> tuple[tuple[_Node, ...], int]:
    nodes: list[_Node] = []
    while at < len(tokens) and tokens[at] not in ("]", "|"):
        if tokens[at] != "[":
            nodes.append(tokens[at])
            at += 1
            continue
        alternatives: list[tuple[_Node, ...]] = []
        while at < len(tokens) and tokens[at] in ("[", "|"):
            inner, at = _sequence(tokens, at + 1, text, depth + 1)
            alternatives.append(inner)
            if at < len(tokens) and tokens[at] == "]":
                break
        if at >= len(tokens):
            raise DataError("a bracket is not closed", where="template grammar", got=text)
        nodes.append(_Choice(tuple(alternatives)))
        at += 1
    return tuple(nodes), at


def _expand(
    nodes: tuple[_Node, ...], phrases: Mapping[str, str], tone: str, rng: random.Random, render: Render, depth: int
) -> str:
    if depth > _MAX_DEPTH:
        raise DataError("phrases refer to each other without end", where="template grammar", got=str(nodes))
    parts: list[str] = []
    for node in nodes:
        if isinstance(node, _Choice):
            parts.append(_expand(rng.choice(node.alternatives), phrases, tone, rng, render, depth + 1))
        elif node.startswith("<"):
            parts.append(_expand(parse(_phrase(node[1:-1], phrases, tone)), phrases, tone, rng, render, depth + 1))
        elif node.startswith("{"):
            slot, _, noun = node[1:-1].partition(":")
            parts.append(render(slot, noun))
        else:
            parts.append(node)
    return "".join(parts)


def _phrase(name: str, phrases: Mapping[str, str], tone: str) -> str:
    found = phrases.get(f"{name}.{tone}", phrases.get(name))
    if found is None:
        raise DataError(f"no phrase {name!r}", where="template grammar", nearest=nearest_name(name, phrases))
    return found
