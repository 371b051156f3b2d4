"""`tool-rl world …`: make, look after and compare recorded worlds, apart from any run.

Without one of these verbs `tool-rl world` is a stage of a run, like the other stages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from environment.upstream.kinds import Mode, UpstreamKind
from scripts.cli.opening import MaxRequests, ModeOption, UpstreamOption, WorldSeed, open_in_mode

if TYPE_CHECKING:
    from environment.cache.sources import Row

STAGE = "stage"
World = Annotated[Path, typer.Argument(help="A recorded world (.db).")]
Schemas = Annotated[Path | None, typer.Option("--tool-schema-path", help="Tool schemas; the BookingAPI by default.")]


class _StageByDefault(TyperGroup):
    """A group that takes anything but one of its verbs for the arguments of the stage."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = [STAGE, *args]
        return super().parse_args(ctx, args)


world_app = typer.Typer(
    cls=_StageByDefault,
    help="Build the world's cache for a run, or make and look after recorded worlds.\n\n"
    "Example: tool-rl world --profile cpu_tiny\n\nExample: tool-rl world stats runs/world.db",
    add_completion=False,
    rich_markup_mode=None,
)


@world_app.command()
def build(
    out: Annotated[Path, typer.Argument(help="The file to write.")],
    seed: Annotated[int, typer.Option(help="Of the simulated world.")] = 0,
    cities: Annotated[int | None, typer.Option(help="How many cities it has.")] = None,
    hotels: Annotated[int | None, typer.Option(help="A city.")] = None,
    destinations: Annotated[int | None, typer.Option(help="Flight destinations recorded for a city.")] = None,
    dates: Annotated[int | None, typer.Option(help="Dates recorded.")] = None,
) -> None:
    """Record the simulated travel site.

    Example: tool-rl world build world.db --seed 7 --cities 60
    """
    from environment.booking.seed_world import WorldSize
    from environment.cache.build import build_seed_cache

    given = {"cities": cities, "hotels": hotels, "destinations": destinations, "dates": dates}
    size = WorldSize(**{name: number for name, number in given.items() if number is not None})
    _say_report(build_seed_cache(out, seed, size))


@world_app.command("import")
def import_(
    out: Annotated[Path, typer.Argument(help="The world to write.")],
    sources: Annotated[list[Path], typer.Argument(help="Caches (.json), ComplexFuncBench or records (.jsonl, .pkl).")],
    extend: Annotated[bool, typer.Option("--extend", help="Keep what the world holds already.")] = False,
    drop_odd: Annotated[bool, typer.Option("--drop-odd", help="Leave out answers that are not their tool's.")] = False,
    tool_schema_path: Schemas = None,
) -> None:
    """Make what others have recorded a world; nothing is written unless every file is read to its end.

    Example: tool-rl world import world.db booking_api_cache.json ComplexFuncBench.jsonl
    """
    from environment.booking.schemas import load_schemas
    from environment.cache.build import import_rows
    from environment.core.errors import DataError

    missing = [str(path) for path in sources if not path.is_file()]
    if missing:
        raise DataError("no such file", where="world import", got=", ".join(missing))
    if out.exists() and not extend:
        raise DataError("the world exists", where=str(out), fix="name another file, or add to this one with --extend")
    rows = (row for path in sources for row in _recorded(path))
    _say_report(import_rows(out, rows, load_schemas(tool_schema_path), extend=extend, drop_odd=drop_odd))


def _recorded(path: Path) -> Iterator[Row]:
    """Yield the calls of a file; a pickle, as the reference's users have them, holds records or entries."""
    from data_synthesis.records import PICKLE_SUFFIXES, read_records
    from environment.cache.sources import object_rows, read_source

    if path.suffix not in PICKLE_SUFFIXES:
        yield from read_source(path)
        return
    for number, record in enumerate(read_records(path)):
        yield from object_rows(record, f"{path.name} record {number}")


@world_app.command()
def stats(world: World, tool_schema_path: Schemas = None) -> None:
    """Print counts and sizes as JSON.

    Example: tool-rl world stats runs/cpu_tiny-seed1/data/world.db
    """
    from environment.cache.survey import statistics

    with _open(world, tool_schema_path) as opened:
        typer.echo(json.dumps(statistics(opened), indent=1, ensure_ascii=False))


@world_app.command()
def verify(world: World, tool_schema_path: Schemas = None) -> None:
    """Read every row and compare its digest; name every row that is off, and end with status 1 if one is.

    Example: tool-rl world verify runs/cpu_tiny-seed1/data/world.db
    """
    with _open(world, tool_schema_path) as opened:
        found = 0
        for error in opened.damage():
            found += 1
            typer.echo(str(error), err=True)
        if found:
            raise typer.Exit(1)
        typer.echo(f"{opened.entry_count} entries, all as recorded; content hash {opened.content_hash}")


@world_app.command()
def diff(
    first: World,
    second: Annotated[Path, typer.Argument(help="Another one.")],
    limit: Annotated[int, typer.Option(help="Differences printed.")] = 20,
    tool_schema_path: Schemas = None,
) -> None:
    """Compare two worlds call by call; end with status 1 if they differ.

    Example: tool-rl world diff old.db new.db
    """
    from environment.cache.survey import differences

    counts: dict[str, int] = {}
    with _open(first, tool_schema_path) as left, _open(second, tool_schema_path) as right:
        for found in differences(left, right):
            counts[found.kind] = counts.get(found.kind, 0) + 1
            if sum(counts.values()) <= limit:
                typer.echo(f"{found.kind:<14} {found.tool} {found.key}")
    typer.echo(", ".join(f"{count} {kind}" for kind, count in counts.items()) or "the same calls with the same answers")
    if counts:
        raise typer.Exit(1)


@world_app.command()
def export(
    world: World,
    out: Annotated[Path, typer.Argument(help="The JSON file to write.")],
    tool_schema_path: Schemas = None,
) -> None:
    """Write a world as the reference's JSON: {tool: [{arguments, response}]}.

    Example: tool-rl world export world.db booking_api_cache.json
    """
    from environment.cache.survey import export_json

    with _open(world, tool_schema_path) as opened:
        typer.echo(f"{export_json(opened, out)} calls written to {out}")


@world_app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True}, add_help_option=False
)
def expand(ctx: typer.Context) -> None:
    """Grow a world by asking an upstream; `--help` lists the flags, which are those of environment/expand_cache.py.

    Example: tool-rl world expand --cache-path world.db --upstream seed --dry-run
    """
    from environment.expansion.entry import main

    raise typer.Exit(main(ctx.args, "tool-rl world expand"))


@world_app.command()
def ask(
    tool: Annotated[str, typer.Argument(help="Name of a tool.")],
    arguments: Annotated[str, typer.Argument(help="A JSON object.")],
    world: Annotated[Path | None, typer.Option(help="A recorded world (.db).")] = None,
    mode: ModeOption = Mode.RECORDED,
    upstream: UpstreamOption = UpstreamKind.NONE,
    world_seed: WorldSeed = 0,
    max_requests: MaxRequests = None,
    tool_schema_path: Schemas = None,
) -> None:
    """Ask one call and print its answer as JSON; end with status 1 unless the answer is ok.

    Example: tool-rl world ask Search_Hotel_Destination '{"query": "Copenhagen"}' --mode simulated
    """
    from environment.core.errors import DataError

    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise DataError(f"not JSON: {error}", where="arguments", got=arguments, expected="a JSON object") from error
    if not isinstance(given, dict):
        raise DataError("not an object", where="arguments", got=arguments, expected='{"name": value, …}')
    opened = open_in_mode(world, mode, upstream, world_seed, max_requests, tool_schema_path)
    answer = opened.call(tool, given)
    typer.echo(json.dumps({"status": answer.status, "value": answer.value}, ensure_ascii=False, indent=1))
    if answer.status == "miss" and mode is Mode.RECORDED:
        _say_nearest(opened, tool, given)
    if answer.status != "ok":
        raise typer.Exit(1)


@world_app.command()
def seal(world: World, tool_schema_path: Schemas = None) -> None:
    """Put what was recorded since (WORLD.journal, left by --mode record) into the world; the journal goes.

    Example: tool-rl world seal world.db
    """
    from environment.booking.schemas import load_schemas
    from environment.cache import recording
    from environment.expansion.files import ExpansionFiles

    files = ExpansionFiles(world)
    with files.locked():
        base = world if world.exists() else None
        _say_report(recording.seal(files.journal, world, load_schemas(tool_schema_path), base))
        files.tidy(finished=False)


def _say_nearest(world: Any, tool: str, arguments: dict[str, Any]) -> None:
    from environment.cache.survey import nearest_calls
    from environment.core.canonical import canonical_key

    for key in nearest_calls(world, tool, canonical_key(world.schemas[tool], arguments)):
        typer.echo(f"nearest recorded: {key}", err=True)


def _open(path: Path, schemas: Path | None) -> Any:
    from environment.booking.schemas import load_schemas
    from environment.cache.store import CachedWorld

    return CachedWorld.open(path, load_schemas(schemas))


def _say_report(report: Any) -> None:
    typer.echo(f"{report.entries} entries of {len(report.by_tool)} tools in {report.path} ({report.seconds:.1f} s)")
    typer.echo(f"content hash {report.content_hash}")
    if report.duplicates:
        typer.echo(f"{report.duplicates} answers were recorded already")
    for reason, count in sorted(report.skipped.items()):
        typer.echo(f"left out {count}: {reason} (first: {report.examples.get(reason, '?')})")
    for reason, count in sorted(report.odd.items()):
        typer.echo(f"kept {count}: {reason} (first: {report.examples[reason]}); --drop-odd leaves them out")
    for conflict in report.conflicts[:10]:
        call = f"{conflict.tool} {json.dumps(conflict.arguments)}"
        typer.echo(f"two answers: {call}: kept {conflict.kept}, not {conflict.refused}")
    if len(report.conflicts) > 10:
        typer.echo(f"… and {len(report.conflicts) - 10} more calls with two answers; the first always stays")
