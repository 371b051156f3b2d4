"""The tools on offer in a record: those of the chain and a few that look as if they could help.

Drawn once a record, so that every step, and every stage that reads the record, sees the same tools in the same order.
"""
from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from environment.core.schema import ToolSchema


def offer(
    gold: Sequence[str], schemas: Mapping[str, ToolSchema], rng: random.Random, fewest: int = 1, most: int = 2
) -> tuple[str, ...]:
    """Return the distinct tools of the chain with `fewest` to `most` distractors, shuffled.

    Distractors come from the families of the chain; from anywhere once these are used up.
    """
    wanted = list(dict.fromkeys(gold))
    families = {schemas[name].group for name in wanted}
    others = [name for name in sorted(schemas) if name not in wanted]
    near = [name for name in others if schemas[name].group in families]
    far = [name for name in others if schemas[name].group not in families]
    count = rng.randint(fewest, most)
    extra = rng.sample(near, min(count, len(near)))
    extra += rng.sample(far, min(count - len(extra), len(far)))
    tools = wanted + extra
    rng.shuffle(tools)
    return tuple(tools)
