"""`World`: what an episode needs of the place it acts in.

One protocol for all: `schemas`, and `call(name, arguments) -> WorldAnswer`. A failing tool, wrong arguments and a miss
are answers; an exception means that the world itself is broken. A world whose calls wait for another machine says so
by an attribute `waits = True`: `drive` then makes them in a thread.
"""
from __future__ import annotations

from environment.core.dispatch import World

__all__ = ["World"]
