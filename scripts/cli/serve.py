"""`tool-rl serve`: a recorded, growing or simulated world over HTTP or MCP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from environment.upstream.kinds import Mode, UpstreamKind
from scripts.cli.opening import MaxRequests, ModeOption, UpstreamOption, WorldSeed, open_in_mode


def serve(
    world: Annotated[Path | None, typer.Argument(help="A recorded world (.db); none with --mode simulated.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen on; others than loopback need a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 takes any free one.")] = 8400,
    capacity: Annotated[int, typer.Option(help="Sessions at once; more are told to come back (429).")] = 1024,
    ttl: Annotated[float, typer.Option(help="Seconds after which an untouched session is dropped.")] = 900.0,
    mcp: Annotated[bool, typer.Option("--mcp", help="Speak MCP over standard streams instead of HTTP.")] = False,
    mode: ModeOption = Mode.RECORDED,
    upstream: UpstreamOption = UpstreamKind.NONE,
    world_seed: WorldSeed = 0,
    max_requests: MaxRequests = None,
    tool_schema_path: Annotated[Path | None, typer.Option(help="Tool schemas; the BookingAPI by default.")] = None,
) -> None:
    """Answer tool calls and keep episodes over HTTP. Ctrl-C or SIGTERM ends it in order.

    With TOOL_RL_SERVE_TOKEN set, every request but /health needs it as bearer token. The routes are described at /docs.

    Example: tool-rl serve runs/cpu_smol-seed1/data/world.db --port 8400
    """
    opened = open_in_mode(world, mode, upstream, world_seed, max_requests, tool_schema_path)
    if mcp:
        import asyncio

        from environment.server.mcp_server import serve_stdio

        asyncio.run(serve_stdio(opened))
    else:
        _serve_http(opened, _described(opened, mode), host, port, capacity, ttl)


def _described(opened: Any, mode: Mode) -> str:
    return f"{opened.entry_count} recorded answers" if mode is Mode.RECORDED else f"a world in mode {mode}"


def _serve_http(opened: Any, what: str, host: str, port: int, capacity: int, ttl: float) -> None:
    from BFCL.parse.hermes import parse_turn
    from environment.server.pool import SessionPool
    from environment.server.run import ServerSettings
    from environment.server.run import serve as run

    pool = SessionPool(opened, parse_turn, capacity=capacity, ttl_s=ttl)

    def ready(at: str, number: int) -> None:
        typer.echo(f"{what} at http://{at}:{number} (docs at /docs); Ctrl-C ends it")

    run(pool, ServerSettings(host=host, port=port), ready)
    typer.echo("ended; no request was cut off")
