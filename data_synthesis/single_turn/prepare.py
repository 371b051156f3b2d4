"""`prepare`: the whole preparation, from a published set to one whose rows passed every step.

    read ─► parse ─► schema ─► unique ─► judge ─┬────────────────────► second judge ─► distinct ─► against ─► written
                     (types mended)             └─ repair, checked again ─┘

Rows stream through in order, with as many judged at once as the endpoint is given. Everything but the judges takes no
time to speak of and the judges' answers are kept on disk, so a run that was interrupted is resumed by running it again.
"""
from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

from data_synthesis.duplicates import NearDuplicates
from data_synthesis.overlap.compare import SampleSet
from data_synthesis.overlap.report import sample_set
from data_synthesis.single_turn.judges import Decision, Judge, ModelJudge, RuleJudge, Verdict
from data_synthesis.single_turn.model import Drop, Dropped, Item, Step
from data_synthesis.single_turn.report import JudgeUse, PrepareReport
from data_synthesis.single_turn.rows import read_item, with_calls
from data_synthesis.single_turn.schema import check, typed
from data_synthesis.single_turn.source import Row, read_rows
from data_synthesis.whole import whole_file
from environment.core.canonical import fold_text, json_key
from environment.core.errors import ConfigError, DataError
from environment.server.endpoint.answers import Unusable
from environment.server.endpoint.ask import Asker, in_order
from environment.server.endpoint.connect import EndpointSettings, connect
from environment.server.endpoint.failures import TooLong

WINDOW = 4
"""Rows in memory for each request under way, so that one slow answer doesn't stop the others."""


@dataclass(frozen=True)
class PrepareSettings:
    """What may be tuned."""

    first: EndpointSettings | None = None
    """The judging model; None judges by rules, offline."""
    second: EndpointSettings | None = None
    """The model that has to agree; None leaves the step out."""
    similarity: float = 0.85
    """Queries whose word triples overlap this much count as one (1 keeps all but equal ones)."""
    against: Sequence[Path] = ()
    """Benchmark files; a row whose query is in one of them is dropped."""
    limit: int | None = None
    """Read so many rows at most."""

    def __post_init__(self) -> None:
        if self.second is None:
            return
        if self.first is None:
            raise ConfigError("a second judge needs a first", where="--judge2-model", fix="name the first with --model")
        if (self.first.base_url, self.first.model) == (self.second.base_url, self.second.model):
            raise ConfigError(
                "both judges are the same model",
                where="--judge2-model",
                got=self.second.model,
                expected="a model of another family, whose mistakes are others",
            )


def prepare(source: Path, output: Path, settings: PrepareSettings = PrepareSettings()) -> PrepareReport:
    """Write the rows of `source` that pass every step to `output`, the others with their reasons beside it.

    Args:
        source: `.jsonl`, `.json` or `.parquet` of xlam's or ToolACE's layout.
        output: JSON Lines to write; `<output>.dropped.jsonl` gets a line for each row left out.

    Raises:
        DataError: the file can't be read, or no row passed (the dropped ones are written all the same).
        EndpointError: a model can't be asked any more, or the budget is spent; nothing is written, answers are kept.
    """
    return asyncio.run(_prepare(source, output, settings))


@dataclass
class _Run:
    """The state of one run."""

    report: PrepareReport
    judge: Judge
    second: Judge | None
    texts: NearDuplicates
    benchmarks: list[SampleSet]
    rows_seen: dict[bytes, str] = field(default_factory=dict[bytes, str])
    """Digest of a row → where it was first."""
    ids: set[str] = field(default_factory=set[str])

    def candidates(self, rows: Iterator[Row]) -> Iterator[Item | Dropped]:
        """Yield what the steps before the judges make of each row."""
        for where, row in rows:
            step = Step.READ
            self.report.passed(step)
            identity = str(row.get("id", where)) if isinstance(row, dict) else where
            try:
                if isinstance(row, Drop):
                    raise row
                step = self._next(Step.PARSE)
                item = read_item(row, where)
                step = self._next(Step.SCHEMA)
                item = typed(item)
                check(item)
                step = self._next(Step.UNIQUE)
                yield self._unique(item)
            except Drop as drop:
                yield Dropped(where, identity, step, drop.reason, drop.detail)

    async def judged(self, row: Item | Dropped) -> Item | Dropped:
        """Return what the judges make of a row."""
        if isinstance(row, Dropped):
            return row
        step = self._next(Step.JUDGE)
        try:
            verdict = await _ask(self.judge, row)
            if verdict.decision is Decision.DROP:
                raise Drop(verdict.reason, verdict.detail)
            if verdict.decision is Decision.REPAIR:
                step = self._next(Step.REPAIR)
                row = _repaired(row, verdict)
            await self._agree(row, verdict)
        except _Disagrees as drop:
            return Dropped(row.where, row.id, Step.SECOND, drop.reason, drop.detail)
        except Drop as drop:
            return Dropped(row.where, row.id, step, drop.reason, drop.detail)
        return row

    def finished(self, row: Item | Dropped) -> Item | Dropped:
        """Return what the last steps, which look at all rows before, make of a row."""
        if isinstance(row, Dropped):
            return row
        step = self._next(Step.DISTINCT)
        if not self.texts.add(row.query):
            return Dropped(row.where, row.id, step, "near_duplicate", row.query[:120])
        step = self._next(Step.AGAINST)
        for benchmark in self.benchmarks:
            known = benchmark.like(row.query) or benchmark.has_ngram(row.query)
            if known:
                return Dropped(row.where, row.id, step, "in_benchmark", f"as {known} of {benchmark.name}")
        return row

    def _next(self, step: Step) -> Step:
        self.report.passed(step)
        return step

    async def _agree(self, row: Item, verdict: Verdict) -> None:
        """Ask the second judge, or the first again about what it repaired."""
        judge = self.second or (self.judge if verdict.decision is Decision.REPAIR else None)
        if judge is None:
            return
        self.report.passed(Step.SECOND)
        again = await _ask(judge, row)
        if again.decision is not Decision.KEEP:
            raise _Disagrees(again.reason or "not_kept", f"{judge.name}: {again.detail}")

    def _unique(self, item: Item) -> Item:
        text = json_key([fold_text(item.query), [call.to_json() for call in item.calls]])
        first = self.rows_seen.setdefault(hashlib.sha256(text.encode()).digest()[:12], item.where)
        if first != item.where:
            raise Drop("same_row", f"as {first}")
        if item.id in self.ids:
            item = replace(item, id=f"{item.id} ({item.where})", repairs=(*item.repairs, "id given twice"))
        self.ids.add(item.id)
        return item


class _Disagrees(Drop):
    """The second judge would not keep a row."""


class _NothingLeft(Exception):
    """No row was written: the output stays away."""


async def _prepare(source: Path, output: Path, settings: PrepareSettings) -> PrepareReport:
    rows = islice(read_rows(source), settings.limit)
    benchmarks = [sample_set(path) for path in settings.against]
    async with AsyncExitStack() as stack:
        askers = [await stack.enter_async_context(connect(s)) for s in (settings.first, settings.second) if s]
        judge, second = _judges(askers)
        report = PrepareReport(str(source), str(output), judge.name, second.name if second else None)
        run = _Run(report, judge, second, NearDuplicates(settings.similarity), benchmarks)
        window = WINDOW * max([s.concurrency for s in (settings.first, settings.second) if s], default=1)
        await _write(run, in_order(run.candidates(rows), run.judged, window), output)
        report.use = [JudgeUse.of(asker) for asker in askers]
    if not report.written:
        raise DataError(f"no row passed\n{report.summary()}", where=str(source), fix=f"see {_dropped(output)}")
    return report


def _judges(askers: Sequence[Asker]) -> tuple[Judge, Judge | None]:
    if not askers:
        return RuleJudge(), None
    return ModelJudge(askers[0]), ModelJudge(askers[1]) if len(askers) > 1 else None


async def _write(run: _Run, rows: AsyncIterator[Item | Dropped], output: Path) -> None:
    with whole_file(_dropped(output)) as left_out, contextlib.suppress(_NothingLeft), whole_file(output) as part:
        with part.open("w", encoding="utf-8") as kept, left_out.open("w", encoding="utf-8") as dropped:
            async for row in rows:
                _line(run, run.finished(row), kept, dropped)
        if not run.report.written:
            raise _NothingLeft


def _line(run: _Run, row: Item | Dropped, kept: TextIO, dropped: TextIO) -> None:
    if isinstance(row, Dropped):
        run.report.drop(row)
        fields: dict[str, Any] = {**row.__dict__, "step": row.step.value}
        dropped.write(f"{_json(fields)}\n")
    else:
        run.report.write(row)
        kept.write(f"{_json(row.to_json())}\n")


def _json(value: dict[str, Any]) -> str:
    """Return JSON text for people, with escapes only where half a surrogate pair leaves no choice."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def _dropped(output: Path) -> Path:
    return output.with_name(f"{output.stem}.dropped.jsonl")


async def _ask(judge: Judge, row: Item) -> Verdict:
    try:
        return await judge.judge(row)
    except Unusable as error:
        raise Drop(f"no_verdict ({error.why})", f"{judge.name}: {error.detail}") from error
    except TooLong as error:
        raise Drop("too_long_to_judge", f"{judge.name}: {error.what}") from error


def _repaired(row: Item, verdict: Verdict) -> Item:
    mended = typed(with_calls(row, verdict.answer))
    check(mended)
    return replace(mended, repairs=(*mended.repairs, f"{verdict.reason}: {verdict.detail}"))
