"""`tool-rl view`: browse trajectories on a page of this machine's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def view(
    path: Annotated[Path, typer.Argument(help="A run folder, a folder of rollouts, or a .jsonl file of trajectories.")],
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1; 0 takes any free one.")] = 0,
    tasks: Annotated[
        Path | None, typer.Option(help="Rows with the wanted calls (.parquet, .jsonl); by default the run's own.")
    ] = None,
    tool_schema_path: Annotated[Path | None, typer.Option(help="Tool schemas; by default the run's own.")] = None,
) -> None:
    """Look at trajectories: search, filter, calls beside the wanted ones, where values came from, rewards, tokens.

    Serves this machine alone, reads only, and follows files that grow. Ctrl-C ends it.

    Example: tool-rl view runs/cpu_smol-seed1

    Example: tool-rl view runs/cpu_smol-seed1/eval/rl.trajectories.jsonl --port 8500
    """
    from evaluation.viewer.server import Site, serve

    site = Site(path, tasks, tool_schema_path)

    def ready(address: str) -> None:
        index = site.index
        still = ", still reading" if index.reading else ""
        left_out = sum(file.bad_count for file in index.files)
        lines = f", {left_out} lines left out (named on the page)" if left_out else ""
        typer.echo(f"{len(index)} trajectories in {len(index.files)} files{still}{lines}: {address} (Ctrl-C ends it)")

    try:
        serve(site, port, ready)
    except KeyboardInterrupt:
        typer.echo("\nended")
