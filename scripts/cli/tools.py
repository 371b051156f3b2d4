"""`tool-rl tools …`: look at tool schemas, ours or a file of yours, and at what flows from one tool to another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

Schemas = Annotated[Path | None, typer.Option("--tool-schema-path", help="Tool schemas; the BookingAPI by default.")]

tools_app = typer.Typer(
    help="Look at tool schemas and check a file of yours.\n\n"
    "Example: tool-rl tools ls\n\nExample: tool-rl tools check my_tools.json",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@tools_app.command()
def ls(tool_schema_path: Schemas = None) -> None:
    """List the tools: group, name, parameters (* required).

    Example: tool-rl tools ls
    """
    from environment.booking.schemas import load_schemas

    for schema in load_schemas(tool_schema_path).values():
        names = (name + "*" * (name in schema.required) for name in schema.properties)
        typer.echo(f"{schema.group:<11}{schema.name}({', '.join(names)})")


@tools_app.command()
def show(name: Annotated[str, typer.Argument(help="A tool.")], tool_schema_path: Schemas = None) -> None:
    """Print all that is known of a tool as JSON: parameters, ports, shape of its answers.

    Example: tool-rl tools show Search_Hotels
    """
    from dataclasses import asdict

    from environment.booking.schemas import load_schemas
    from environment.core.errors import DataError, nearest_name

    schemas = load_schemas(tool_schema_path)
    if name not in schemas:
        raise DataError("unknown tool", where="tools show", got=name, nearest=nearest_name(name, schemas))
    typer.echo(json.dumps(asdict(schemas[name]), indent=1, ensure_ascii=False))


@tools_app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A file of tool schemas, JSON array or JSON Lines.")],
    every: Annotated[bool, typer.Option("--all", help="Print every difference, not the first of each kind.")] = False,
) -> None:
    """Say what a file lacks against the BookingAPI of this project; end with status 1 if it lacks anything.

    Example: tool-rl tools check environment/booking_api.json
    """
    from environment.booking.lacks import counted, lacks
    from environment.booking.schemas import load_schemas

    theirs = load_schemas(file)
    found = list(lacks(theirs, load_schemas()))
    typer.echo(f"{len(theirs)} tools read from {file}")
    for kind, count in counted(found).items():
        shown = [lack for lack in found if lack.kind == kind]
        typer.echo(f"{count:>5} {kind}")
        for lack in shown if every else shown[:1]:
            typer.echo(f"        {lack.tool}: {lack.what}")
    if found:
        raise typer.Exit(1)
    typer.echo("it states all that ours does")


@tools_app.command()
def edges(
    templates: Annotated[Path | None, typer.Option(help="Workflow templates of the reference to compare with.")] = None,
    tool_schema_path: Schemas = None,
) -> None:
    """Print every data dependency that follows from the ports, or compare those of mined templates with them.

    Example: tool-rl tools edges --templates workflow_templates.json
    """
    from environment.booking.schemas import load_schemas
    from environment.core.ports import port_edges
    from environment.expansion.mined import judge_edges

    schemas = load_schemas(tool_schema_path)
    if templates is None:
        for edge in port_edges(schemas):
            typer.echo(f"{edge.port:<20}{edge.producer} {edge.field} -> {edge.consumer}.{edge.argument}")
        return
    counts: dict[str, int] = {}
    for judged in judge_edges(templates, schemas):
        counts[judged.verdict] = counts.get(judged.verdict, 0) + judged.count
        arrow = f"{judged.producer} {judged.field} -> {judged.consumer}.{judged.argument}"
        typer.echo(f"{judged.verdict:<8}{judged.count:>4}  {arrow}{judged.reason and f'  ({judged.reason})'}")
    typer.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
