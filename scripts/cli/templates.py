"""`tool-rl templates …`: look at workflow templates, check one's own, and take over what others have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from environment.core.errors import ConfigError, DataError, nearest_name

Set = Annotated[str, typer.Option("--set", help="default, all, or a file or folder of your own.")]
Schemas = Annotated[Path | None, typer.Option("--tool-schema-path", help="Tool schemas; the BookingAPI by default.")]
Out = Annotated[Path | None, typer.Option("--out", help="The file to write; the terminal without it.")]

templates_app = typer.Typer(
    help="Look at workflow templates, check your own, and take over what others have.\n\n"
    "Example: tool-rl templates ls --set all",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@templates_app.command("ls")
def ls(which: Set = "all", tool_schema_path: Schemas = None) -> None:
    """List the patterns: id, domain, steps, levels, width, tools.

    Example: tool-rl templates ls --set default
    """
    patterns = _load(which, tool_schema_path)
    wide = max(len(p.id) for p in patterns)
    typer.echo(f"{'id':<{wide}}  {'domain':<10} steps levels width picks")
    for p in patterns:
        width = max(map(len, p.levels))
        typer.echo(f"{p.id:<{wide}}  {p.domain:<10} {len(p.steps):>5} {len(p.levels):>6} {width:>5} {len(p.picks):>5}")
    typer.echo(f"{len(patterns)} patterns, {len({s.tool for p in patterns for s in p.steps})} tools")


@templates_app.command()
def show(
    name: Annotated[str, typer.Argument(help="Id of a pattern.")],
    which: Set = "all",
    requests: Annotated[int, typer.Option(help="Requests to show.")] = 3,
    tool_schema_path: Schemas = None,
) -> None:
    """Show a pattern: steps by level, where every argument comes from, and a few requests for it.

    Example: tool-rl templates show hotel_policies
    """
    from data_synthesis.templates.model import FromUser
    from data_synthesis.trial import try_patterns

    pattern = _one(name, _load(which, tool_schema_path))
    typer.echo(f"{pattern.id}  domain {pattern.domain}, {len(pattern.steps)} steps on {len(pattern.levels)} levels")
    for number, level in enumerate(pattern.levels):
        for step in level:
            typer.echo(f"  level {number}  {step.name}: {step.tool}")
            for argument, source in step.give.items():
                user = isinstance(source, FromUser)
                origin = f"the user: {source.variable}" if user else f"{source.step}.{source.field}"
                typer.echo(f"             {argument} <- {origin}")
    for pick, rules in pattern.picks.items():
        typer.echo(f"  {pick}: {', '.join(rules) or 'by name'}")
    for group in pattern.together:
        typer.echo(f"  one place: {', '.join(sorted(group))}")
    if requests > 0:
        tried = [try_patterns([pattern], tries=1, seed=seed)[0] for seed in range(requests)]
        typer.echo("".join(f"\n  > {t.example}" if t.example else f"\n  ! {t.why}" for t in tried))


@templates_app.command()
def validate(
    path: Annotated[Path, typer.Argument(help="A template file or folder.")],
    tries: Annotated[int, typer.Option(help="Draws of each sound pattern in a simulated world; 0 for none.")] = 20,
    tool_schema_path: Schemas = None,
) -> None:
    """Check templates of your own: names, arguments, ports, and whether they give rows.

    Example: tool-rl templates validate mine.yaml
    """
    from data_synthesis.templates.load import every_problem
    from data_synthesis.trial import try_patterns

    sound, wrong = every_problem(_schemas(tool_schema_path), path)
    for problem in wrong:
        typer.echo(f"{problem}\n", err=True)
    if not sound and not wrong:
        raise DataError("no pattern in it", where=str(path), expected="`patterns`, a list")
    failed = 0
    for trial in try_patterns(sound, tries) if tries > 0 and sound else []:
        failed += not trial.accepted
        typer.echo(f"{trial.pattern}: {trial.accepted} of {trial.tried} draws gave a row")
        if trial.why:
            typer.echo(f"  {trial.why}")
    typer.echo(f"{len(sound)} sound, {len(wrong)} problems, {failed} without a row")
    if wrong or failed:
        raise typer.Exit(1)


@templates_app.command()
def draw(
    name: Annotated[str, typer.Argument(help="Id of a pattern.")],
    which: Set = "all",
    out: Out = None,
    tool_schema_path: Schemas = None,
) -> None:
    """Draw a pattern as SVG: a column a level, a box a step, a line an edge.

    Example: tool-rl templates draw hotel_policies --out policies.svg
    """
    from data_synthesis.templates.picture import svg

    _write(svg(_one(name, _load(which, tool_schema_path))), out)


@templates_app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="A workflow_templates.json in the reference's layout.")],
    out: Out = None,
    tool_schema_path: Schemas = None,
) -> None:
    """Turn the reference's workflow templates into ours, with edges by ports; says what it missed and invented.

    Example: tool-rl templates import workflow_templates.json --out imported.yaml
    """
    from data_synthesis.drafts import read_workflows

    _take_over(read_workflows(path, _schemas(tool_schema_path)), out, tool_schema_path)


@templates_app.command()
def mine(
    path: Annotated[Path, typer.Argument(help="Conversations in the layout of ComplexFuncBench (.jsonl).")],
    out: Out = None,
    tool_schema_path: Schemas = None,
) -> None:
    """Find the templates behind recorded conversations, by ports and not by equal values alone.

    Example: tool-rl templates mine ComplexFuncBench.jsonl --out mined.yaml
    """
    from data_synthesis.drafts import read_conversations

    _take_over(read_conversations(path, _schemas(tool_schema_path)), out, tool_schema_path)


def _take_over(drafts: Sequence[Any], out: Path | None, tool_schema_path: Path | None) -> None:
    from data_synthesis.drafts import as_yaml
    from data_synthesis.ports import EdgeCount

    _write(as_yaml(drafts, _schemas(tool_schema_path)), out)
    edges = sum((draft.edges for draft in drafts), EdgeCount())
    for draft in drafts:
        if draft.edges.invented or draft.edges.missed:
            typer.echo(f"{draft.name}: {draft.edges.invented} invented, {draft.edges.missed} missed", err=True)
    typer.echo(
        f"{len(drafts)} workflows; edges by equal values: {edges.kept} stand, {edges.invented} were invented,"
        f" {edges.missed} were missed",
        err=True,
    )


def _schemas(path: Path | None) -> Any:
    from environment.booking.schemas import load_schemas

    return load_schemas(path)


def _load(which: str, schemas: Path | None) -> Any:
    from data_synthesis.templates.load import load_set

    return load_set(_schemas(schemas), which)


def _one(name: str, patterns: Sequence[Any]) -> Any:
    for pattern in patterns:
        if pattern.id == name:
            return pattern
    ids = [pattern.id for pattern in patterns]
    raise ConfigError(
        "no such pattern", where="templates", got=name, nearest=nearest_name(name, ids), fix="tool-rl templates ls"
    )


def _write(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=False)
        return
    half = out.with_name(f".{out.name}.part")
    try:
        half.write_text(text, encoding="utf-8")
        half.replace(out)
    except OSError as error:
        fix = "name a file in a folder that is there"
        raise DataError(f"can't write ({error.strerror})", where=str(out), fix=fix) from error
    finally:
        half.unlink(missing_ok=True)
    typer.echo(f"wrote {out}", err=True)
