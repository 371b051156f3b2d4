"""Script entry with the reference's flags: templates and a world → training records (`.pkl`, `.jsonl`).

    python -m data_synthesis.generate_bfcl_training_data --output data/bfcl_training.pkl --queries-per-workflow 3

Without `--world` the world is simulated. Without `--model` the queries are worded offline; with it a model behind
`--base-url` words them anew. `tool-rl synth` does the same inside a run, with held-out rows.
"""
from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from data_synthesis.card.synth import write_synth_card
from data_synthesis.llm_writer import reword
from data_synthesis.mix import Mix
from data_synthesis.records import read_records, write_records
from data_synthesis.synth import SynthConfig, SynthReport, synthesise
from data_synthesis.templates.load import load_patterns
from data_synthesis.templates.model import Pattern
from environment.booking.schemas import load_schemas
from environment.cache.build import build_seed_cache
from environment.core.errors import ConfigError, ToolRlError
from environment.server.endpoint.ask import AskSettings
from environment.server.endpoint.connect import EndpointSettings

DEFAULT_ROWS = 250
STRATEGIES = ("uniform", "frequency_weighted")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the script; return its exit status."""
    given = _flags().parse_args(argv)
    try:
        sys.stdout.write(_make(given) + "\n")
    except ToolRlError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


def _flags() -> argparse.ArgumentParser:
    flags = argparse.ArgumentParser("generate_bfcl_training_data", description="Make training records from templates.")
    flags.add_argument("--output", type=Path, default=Path("data/bfcl_training.pkl"), help=".pkl or .jsonl to write")
    flags.add_argument("--workflow-templates", type=Path, help="folder of templates; by default those of the project")
    flags.add_argument("--world", type=Path, help="recorded world; by default a simulated one")
    flags.add_argument("--tool-schema-path", type=Path, help="tool schemas; by default environment/booking_api.json")
    flags.add_argument("--target-size", type=int, help=f"rows wanted (default {DEFAULT_ROWS})")
    flags.add_argument("--queries-per-workflow", type=int, help="rows wanted of each template, instead")
    flags.add_argument("--num-distractors", type=int, default=0, help="tools on offer beyond those of the chain")
    flags.add_argument("--candidate-tools", type=int, help="accepted and without effect, as in the reference")
    flags.add_argument("--sampling-strategy", choices=STRATEGIES, default="uniform", help="shares of the templates")
    flags.add_argument("--random-seed", type=int, default=0, help="equal seeds give equal files (default 0)")
    flags.add_argument("--model", help="model that words the queries; without one they are worded offline")
    flags.add_argument("--base-url", default="http://127.0.0.1:8000/v1", help="its OpenAI-compatible address")
    flags.add_argument("--key-env", default="OPENAI_API_KEY", help="environment variable that holds the key")
    flags.add_argument("--verbose", action="store_true", help="also say what was turned down, and why")
    return flags


def _make(given: argparse.Namespace) -> str:
    templates = given.workflow_templates
    if templates is not None and not templates.is_dir():
        raise ConfigError(
            "the templates are no folder", where="--workflow-templates", got=str(templates),
            expected="a folder of .yaml files as in data_synthesis/templates",
            fix="leave the flag out for the project's own templates",
        )  # fmt: skip
    schemas = load_schemas(given.tool_schema_path)
    patterns = load_patterns(schemas, templates)
    wanted = _rows(given, len(patterns))
    config = SynthConfig(_mix(patterns, given.sampling_strategy), 0.0, (given.num_distractors,) * 2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = given.world or folder / "world.db"
        if given.world is None:
            build_seed_cache(world, given.random_seed)
        report = synthesise(
            world, given.tool_schema_path, folder, wanted, 0, given.random_seed, config=config, templates=templates
        )
        told = _reword(folder / "train.jsonl", patterns, given) if given.model else ""
        rows = write_records(given.output, read_records(folder / "train.jsonl"))
        card = given.output.with_suffix("")
        write_synth_card(folder, report, {"seed": given.random_seed}, schemas, stem=card, files=(given.output,))
    return f"{rows} of {wanted} records → {given.output}{told}" + (_details(report) if given.verbose else "")


def _rows(given: argparse.Namespace, patterns: int) -> int:
    if given.target_size is not None and given.queries_per_workflow is not None:
        raise ConfigError("two sizes are given", where="--target-size", fix="leave it out, or --queries-per-workflow")
    wanted = given.target_size if given.queries_per_workflow is None else given.queries_per_workflow * patterns
    wanted = DEFAULT_ROWS if wanted is None else wanted
    for name, number, least in (("--target-size", wanted, 1), ("--num-distractors", given.num_distractors, 0)):
        if number < least:
            raise ConfigError("the number is too small", where=name, got=number, expected=f"at least {least}")
    return wanted


def _mix(patterns: Sequence[Pattern], strategy: str) -> Mix:
    """Return the shares: all templates alike, or by their own weights."""
    weights = {p.id: 1.0 if strategy == "uniform" else p.weight for p in patterns}
    lengths: dict[int, float] = {}
    for pattern in patterns:
        lengths[len(pattern.steps)] = lengths.get(len(pattern.steps), 0.0) + weights[pattern.id]
    return Mix(steps=lengths, patterns=weights)


def _reword(file: Path, patterns: Sequence[Pattern], given: argparse.Namespace) -> str:
    cache = given.output.with_name(f"{given.output.stem}.replies.db")
    settings = EndpointSettings(given.base_url, given.model, given.key_env, ask=AskSettings(0.8, 512), cache=cache)
    report = reword([file], {p.id: p for p in patterns}, load_schemas(given.tool_schema_path), settings)
    turned_down = ", ".join(f"{why} {count}" for why, count in report.rejected.most_common()) or "none"
    return f"\n{report.reworded} queries worded by {report.model}, {report.kept} kept; texts turned down: {turned_down}"


def _details(report: SynthReport) -> str:
    lines = [f"turned down, {why}: {count}" for why, count in sorted(report.train.rejected.items())]
    lines += [f"can't be filled: {why}" for why in report.train.infeasible.values()]
    return "".join(f"\n  {line}" for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
