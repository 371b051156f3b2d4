"""`tool-rl prepare` and `tool-rl overlap`: looking after data sets, apart from any run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

Against = Annotated[
    list[Path] | None, typer.Option("--against", help="A benchmark file (BFCL, ComplexFuncBench); may be repeated.")
]


def prepare(
    source: Annotated[Path, typer.Argument(help="Rows of tools, query and answers: .jsonl, .json or .parquet.")],
    output: Annotated[Path, typer.Argument(help="The .jsonl to write; dropped rows and a card go beside it.")],
    model: Annotated[str | None, typer.Option(help="Judging model; without one, rules judge offline.")] = None,
    base_url: Annotated[str, typer.Option(help="Its OpenAI-compatible address.")] = "http://127.0.0.1:8000/v1",
    key_env: Annotated[str, typer.Option(help="Environment variable that holds the key.")] = "OPENAI_API_KEY",
    judge2_model: Annotated[str | None, typer.Option("--judge2-model", help="Model that has to agree.")] = None,
    judge2_base_url: Annotated[str | None, typer.Option("--judge2-base-url", help="Its address, if another.")] = None,
    judge2_key_env: Annotated[str | None, typer.Option("--judge2-key-env", help="Its key, if another.")] = None,
    concurrency: Annotated[int, typer.Option(help="Rows judged at once.")] = 16,
    timeout: Annotated[float, typer.Option(help="Seconds for one try.")] = 120.0,
    response_format: Annotated[str, typer.Option(help="json_schema, json_object or none.")] = "json_schema",
    max_tokens: Annotated[int | None, typer.Option(help="Cap on all tokens of each model.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Cap on the cost of each model; needs the prices.")] = None,
    price_in: Annotated[float, typer.Option(help="Cost of a million prompt tokens.")] = 0.0,
    price_out: Annotated[float, typer.Option(help="Cost of a million completion tokens.")] = 0.0,
    cache: Annotated[Path | None, typer.Option(help="File of replies; <output>.replies.db by default.")] = None,
    similarity: Annotated[float, typer.Option(help="Overlap from which two queries count as one.")] = 0.85,
    against: Against = None,
    limit: Annotated[int | None, typer.Option(help="Read so many rows at most.")] = None,
) -> None:
    """Clean a single-turn function-calling set: parse, check, judge, repair, judge again, deduplicate.

    Example: tool-rl prepare xlam_60k.json clean.jsonl --model qwen3-32b --judge2-model glm-4
    """
    from data_synthesis.single_turn.card import write_prepare_card
    from data_synthesis.single_turn.prepare import PrepareSettings
    from data_synthesis.single_turn.prepare import prepare as work
    from environment.core.errors import ConfigError
    from environment.server.endpoint.ask import AskSettings, Format
    from environment.server.endpoint.budget import Price
    from environment.server.endpoint.connect import EndpointSettings

    formats: dict[str, Format] = {"json_schema": "json_schema", "json_object": "json_object", "none": "none"}
    if response_format not in formats:
        raise ConfigError(
            "no such format", where="--response-format", got=response_format, expected=", ".join(formats)
        )
    common: dict[str, Any] = {
        "concurrency": concurrency,
        "timeout": timeout,
        "ask": AskSettings(format=formats[response_format]),
        "max_tokens": max_tokens,
        "max_cost": max_cost,
        "price": Price(price_in, price_out),
        "cache": cache or output.with_name(f"{output.stem}.replies.db"),
    }
    first = EndpointSettings(base_url, model, key_env, **common) if model else None
    second = None
    if judge2_model:
        second = EndpointSettings(judge2_base_url or base_url, judge2_model, judge2_key_env or key_env, **common)
    report = work(source, output, PrepareSettings(first, second, similarity, against or (), limit))
    write_prepare_card(report)
    typer.echo(report.summary())


def overlap(
    first: Annotated[Path, typer.Argument(help="A set: records, RL parquet, single-turn rows, benchmark files.")],
    second: Annotated[Path, typer.Argument(help="The set to compare with it.")],
    against: Against = None,
    forbid: Annotated[
        list[str] | None, typer.Option(help="pattern, call, entity, ngram or near: exit 1 where that is shared.")
    ] = None,
    ngram: Annotated[int, typer.Option(help="Words in a row that count as the same text.")] = 13,
    out: Annotated[Path | None, typer.Option("--json", help="Also write the report here.")] = None,
    tool_schema_path: Annotated[Path | None, typer.Option(help="Tool schemas; the BookingAPI by default.")] = None,
) -> None:
    """Show what two sets share, and what either shares with benchmark files.

    Example: tool-rl overlap data/train.jsonl data/heldout.jsonl --forbid entity --against BFCL_v4_multi_turn_base.json
    """
    from data_synthesis.overlap.report import broken, overlaps, table
    from data_synthesis.whole import write_text
    from environment.booking.schemas import load_schemas

    found = overlaps(first, second, against or (), load_schemas(tool_schema_path), ngram)
    wrong = [line for one in found for line in broken(one, forbid or ())]
    typer.echo("\n\n".join(table(one) for one in found))
    if out is not None:
        write_text(out, json.dumps({"overlaps": [one.to_json() for one in found], "broken": wrong}, indent=2) + "\n")
    if wrong:
        typer.echo("\n" + "\n".join(wrong), err=True)
        raise typer.Exit(1)


def writer_overrides(writer: str, model: str | None, base_url: str | None) -> list[str]:
    """Return the settings behind `--writer`, `--model` and `--base-url` of `tool-rl synth`.

    Raises:
        ConfigError: the writer is unknown, or the options don't go together.
    """
    from environment.core.errors import ConfigError, nearest_name

    if writer not in ("offline", "llm"):
        near = nearest_name(writer, ("offline", "llm"))
        raise ConfigError("no such writer", where="--writer", got=writer, expected="offline or llm", nearest=near)
    if writer == "offline":
        if model or base_url:
            raise ConfigError("the offline writer asks no model", where="--model", fix="add --writer llm")
        return []
    if not model:
        raise ConfigError("no model is named", where="--writer llm", fix="name it with --model")
    address = [f"tool_rl.synth.llm.base_url={json.dumps(base_url)}"] if base_url else []
    return [f"tool_rl.synth.llm.model={json.dumps(model)}", *address]
