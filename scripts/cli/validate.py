"""`tool-rl validate`: does the perfect policy earn everything, on every record?"""

from __future__ import annotations

import statistics
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from BFCL.check.match import Match
    from environment.core.dispatch import World
    from environment.core.errors import DataError
    from environment.core.schema import ToolSchema
    from environment.session.limits import Limits
    from training.reward.registry import Reward

COMPONENTS = (
    "R_atomic_validity", "R_outcome_orchestration", "R_outcome_state", "R_form", "economy",
    "form", "ast", "format", "correct",
)  # fmt: skip
"""Components of any reward that are 1 on a perfect trajectory."""
FULL = 1 - 1e-9
BINS = 10


@dataclass(frozen=True)
class Checked:
    """One record replayed, or what stood in the way."""

    where: str
    name: str
    score: float
    acc: bool
    problems: tuple[str, ...]


def validate(
    records: Annotated[
        Path | None, typer.Option(help="Records, .jsonl or .pkl; their stored responses are the world.")
    ] = None,
    world: Annotated[Path | None, typer.Option(help="Replay the records through this recorded world (.db).")] = None,
    run_dir: Annotated[Path | None, typer.Option(help="Replay the sets of this run through its world.")] = None,
    reward: Annotated[str, typer.Option(help="graduated, legacy, binary or toolrl.")] = "graduated",
    observation_tokens: Annotated[
        int | None, typer.Option(min=1, help="Cut observations as training does; whole by default.")
    ] = None,
    tool_schema_path: Annotated[Path | None, typer.Option(help="Tool schemas; the BookingAPI by default.")] = None,
) -> None:
    """Replay the gold of every record and score it; name each that earns less than 1.0, and end with status 1 then.

    Without records or a run a small world and sets are made anew, in a temporary folder, and replayed.

    Example: tool-rl validate --records data/train.jsonl

    Example: tool-rl validate --run-dir runs/cpu_smol-seed1
    """
    from environment.booking.schemas import load_schemas
    from environment.core.errors import ConfigError
    from training.reward.registry import reward as reward_of

    if run_dir is not None and (records is not None or world is not None):
        raise ConfigError("give --run-dir or --records, not both", where="validate")
    if world is not None and records is None:
        raise ConfigError("a world but no records", where="validate", fix="name them with --records")
    schemas = load_schemas(tool_schema_path)
    work = _Replay(schemas, reward_of(reward), observation_tokens)
    with tempfile.TemporaryDirectory(prefix="tool-rl-validate-") as folder:
        sets = [(records, world)] if records else _sets(run_dir, Path(folder), tool_schema_path)
        results = [result for rows, recorded in sets for result in work.file(rows, recorded)]
    if not results:
        raise ConfigError("no records", where=str(records or run_dir), expected="at least one")
    typer.echo("\n".join(report(results, reward)))
    if any(result.problems for result in results):
        raise typer.Exit(1)


def report(results: list[Checked], reward: str) -> Iterator[str]:
    """Yield the distribution, then every record that earns less than 1 with what failed."""
    scores = [result.score for result in results]
    short = [result for result in results if result.problems]
    yield f"{len(results)} records, gold replayed and scored by {reward}: {len(results) - len(short)} at 1.0"
    yield f"min {min(scores):.4f}  mean {statistics.fmean(scores):.4f}  max {max(scores):.4f}"
    bins = Counter(min(int(score * BINS), BINS) for score in scores)
    for at in sorted(bins):
        low = f"{at / BINS:.1f}" + ("" if at == BINS else f" to {(at + 1) / BINS:.1f}")
        yield f"  {low:<12} {bins[at]}"
    for result in short:
        yield f"{result.where} {result.name}: {result.score:.4f}"
        yield from (f"  {problem}" for problem in result.problems)


class _Replay:
    """Replays files of records under one reward."""

    def __init__(self, schemas: Mapping[str, ToolSchema], judge: Reward, observation_tokens: int | None) -> None:
        self._schemas = schemas
        self._judge = judge
        self._observation_tokens = observation_tokens

    def file(self, path: Path, recorded: Path | None) -> Iterator[Checked]:
        """Yield a result for each row of a file; without a recorded world a record's own responses answer."""
        from environment.cache.store import CachedWorld
        from scripts.cli.gold import record_rows

        with nullcontext() if recorded is None else CachedWorld.open(recorded, self._schemas) as shared:
            for where, row in record_rows(path):
                yield self._row(row, where, shared)

    def _row(self, row: dict[str, Any] | DataError, where: str, shared: World | None) -> Checked:
        from environment.core.errors import DataError

        try:
            if isinstance(row, DataError):
                raise row
            return self._record(row, where, shared)
        except DataError as error:
            told = str(error).replace("\n", "\n  ").removeprefix(f"{where}: ")
            return Checked(where, "not replayed", 0.0, False, (told,))

    def _record(self, row: Mapping[str, Any], where: str, shared: World | None) -> Checked:
        from BFCL.check.match import chain_of
        from BFCL.check.replay import GoldWorld, replay_gold
        from scripts.cli.gold import responses_of, task_of

        task = task_of(row, self._schemas, where)
        world = shared or GoldWorld(task, responses_of(row), self._schemas)
        trajectory = replay_gold(task, world, self._limits(len(task.steps)))
        found = self._judge(trajectory, task, self._schemas)
        if found.score >= FULL:
            return Checked(where, task.id, found.score, found.acc, ())
        low = {name: found.components[name] for name in COMPONENTS if found.components.get(name, 1.0) < FULL}
        problems = [f"{name} is {value:.4f}" for name, value in low.items()]
        problems += _step_problems(chain_of(task, self._schemas).match(trajectory))
        problems += [f"the episode ended by {trajectory.stop}: {trajectory.error or 'no answer'}"] * (not found.acc)
        return Checked(where, task.id, found.score, found.acc, tuple(problems))

    def _limits(self, steps: int) -> Limits:
        from dataclasses import replace

        from BFCL.check.replay import uncut

        return replace(uncut(steps + 1), observation_tokens=self._observation_tokens)


def _step_problems(match: Match) -> Iterator[str]:
    for step in match.steps:
        if step.call is None:
            yield f"step {step.step}: no call answers it"
        wrong = [credit.name for credit in step.arguments if credit.value < 1]
        if wrong:
            yield f"step {step.step}: wrong {', '.join(wrong)}"
        for edge in step.edges:
            if not edge.observed:
                what = edge.argument or "it"
                yield f"step {step.step}: {what} was not seen in an earlier result (step {edge.producer})"
    if match.surplus:
        yield f"{len(match.surplus)} calls beyond the chain"
    if match.answered and match.told < 1:
        yield f"the answer names {match.told:.0%} of the found values that the task's answer names"


def _sets(run_dir: Path | None, folder: Path, schema_path: Path | None) -> list[tuple[Path, Path | None]]:
    """Return the sets to replay and their world: a run's, or ones made anew in a folder."""
    from environment.core.errors import ConfigError

    data = _make(folder, schema_path) if run_dir is None else run_dir / "data"
    world = data / "world.db"
    found = [data / f"{split}.jsonl" for split in ("train", "heldout") if (data / f"{split}.jsonl").is_file()]
    if not found or not world.is_file():
        fix = "run the stages world and synth first, or name records with --records"
        raise ConfigError("no world or no rows in this run", where=str(run_dir), expected="data/world.db", fix=fix)
    return [(path, world) for path in found]


def _make(folder: Path, schema_path: Path | None) -> Path:
    from data_synthesis.synth import synthesise
    from environment.cache.build import build_seed_cache

    world = folder / "world.db"
    build_seed_cache(world)
    synthesise(world, schema_path, folder, 200, 50, 0)
    return folder
