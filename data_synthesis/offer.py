"""The tools on offer in a record: those of the chain and a few that look as if they could help.

Drawn once a record, so that every step, and every stage that reads the record, sees the same tools in the same order.
"""
from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from data_synthesis.duplicates import jaccard
from environment.core.schema import ToolSchema

By = Literal["family", "similar", "random"]
"""How distractors are chosen: from the families of the chain, by likeness to its tools, or from all tools alike."""
_WORD = re.compile(r"[A-Z]?[a-z]+")


def offer(
    gold: Sequence[str],
    schemas: Mapping[str, ToolSchema],
    rng: random.Random,
    fewest: int = 1,
    most: int = 2,
    by: By = "family",
) -> tuple[str, ...]:
    """Return the distinct tools of the chain with `fewest` to `most` distractors, shuffled.

    Distractors of the families of the chain come from anywhere once these are used up; those by likeness are the most
    alike in the words of names, descriptions and parameters.
    """
    wanted = list(dict.fromkeys(gold))
    families = {schemas[name].group for name in wanted}
    others = [name for name in sorted(schemas) if name not in wanted]
    count = rng.randint(fewest, most)
    if by == "similar":
        extra = sorted(others, key=lambda name: -likeness(schemas[name], [schemas[n] for n in wanted]))[:count]
    elif by == "random":
        extra = rng.sample(others, min(count, len(others)))
    else:
        near = [name for name in others if schemas[name].group in families]
        far = [name for name in others if schemas[name].group not in families]
        extra = rng.sample(near, min(count, len(near)))
        extra += rng.sample(far, min(count - len(extra), len(far)))
    tools = wanted + extra
    rng.shuffle(tools)
    return tuple(tools)


def likeness(tool: ToolSchema, others: Sequence[ToolSchema]) -> float:
    """Return the greatest Jaccard similarity of a tool's words with those of another, in [0, 1]."""
    return max((jaccard(_words(tool), _words(other)) for other in others), default=0.0)


def _words(tool: ToolSchema) -> frozenset[str]:
    text = " ".join((tool.name, tool.description, *tool.properties))
    return frozenset(word.lower() for word in _WORD.findall(text))
