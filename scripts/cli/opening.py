"""The options by which a command opens a world: its mode, and who is asked for what is not recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from environment.upstream.kinds import Mode, UpstreamKind

if TYPE_CHECKING:
    from environment.core.dispatch import World


ModeOption = Annotated[
    Mode,
    typer.Option(help="recorded: a miss is a miss; record: ask --upstream and keep; simulated: the seed world."),
]
UpstreamOption = Annotated[UpstreamKind, typer.Option(help="Who is asked in mode record.")]
WorldSeed = Annotated[int, typer.Option(help="Of the seed world.")]
MaxRequests = Annotated[int | None, typer.Option(help="Paid requests of rapidapi at most, tries counted.")]


def open_in_mode(
    world: Path | None,
    mode: Mode,
    upstream: UpstreamKind,
    world_seed: int,
    max_requests: int | None,
    schemas: Path | None,
) -> World:
    """Open a world as the options say; errors say which option is wrong."""
    from environment.booking.schemas import load_schemas
    from environment.upstream import modes

    asked = modes.UpstreamSettings(upstream, world_seed, max_requests=max_requests)
    return modes.open_world(mode, world, asked, load_schemas(schemas))
