"""`Upstream`: whoever is asked for what is not recorded yet: the simulator, a live service, or nobody.

An upstream answers (`ok`, or `upstream_error` where the service itself says no; both may be kept), has nothing
(`miss`), or raises `UpstreamFailure`: the request got no answer that may be kept, and asking again may help.
"""
from __future__ import annotations

from typing import Protocol, runtime_checkable

from environment.core.dispatch import World
from environment.core.errors import ToolRlError


@runtime_checkable
class Upstream(World, Protocol):
    """A world that says where its answers come from and whether it can still be asked."""

    @property
    def provenance(self) -> str:
        """Kept with every recorded answer."""
        ...

    @property
    def stopped(self) -> str | None:
        """Why no further request makes sense (the key is refused, the budget is spent); None while one does."""
        ...


class UpstreamFailure(ToolRlError):
    """A request that got no answer which may be kept. Its text holds no secret and may be shown to a model."""


class UpstreamStop(UpstreamFailure):
    """No further request makes sense; `Upstream.stopped` says why."""
