"""`World`: what an episode needs of the place it acts in.

One protocol for all: `schemas`, and `call(name, arguments) -> WorldAnswer`. A failing tool, wrong arguments and a miss
are answers; an exception means that the world itself is broken.
"""
from __future__ import annotations

from environment.core.dispatch import World

__all__ = ["World"]
