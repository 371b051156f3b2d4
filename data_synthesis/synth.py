"""Synthesis: a recorded world and templates in, training and held-out rows out.

    templates ─► draw a chain ─► check its calls ─► write a query ─► check the query ─► offer tools ─► row
                 (search)         (schemas)          (writer)         (checks, duplicates)

Rows are made one by one for the length, and of this length the pattern, that lags most behind its share. All chance
of a row comes from a generator keyed by seed, split, pattern and try: the same world, templates and settings give the
same files, byte by byte.
"""
from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from data_synthesis.answers import answer
from data_synthesis.checks import CheckConfig, Reason, query_problems
from data_synthesis.duplicates import NearDuplicates
from data_synthesis.index import WorldIndex, seen_through
from data_synthesis.mix import Mix, by_length, neediest
from data_synthesis.offer import By, offer
from data_synthesis.prune import Domains, prune
from data_synthesis.records import write_records
from data_synthesis.search import Chain, Infeasible, draw, narrow
from data_synthesis.split import EntitySplit, place_groups, split_places
from data_synthesis.tasks import record_from_task
from data_synthesis.templates.load import load_set
from data_synthesis.templates.model import Pattern
from data_synthesis.writer import WriterConfig, write
from environment.booking.schemas import load_schemas
from environment.cache.store import CachedWorld
from environment.core.calls import ResultStatus, WorldAnswer
from environment.core.errors import DataError
from environment.core.task import Task
from environment.core.validate import check_arguments
from environment.session.observation import ObservationCut, TokenCounter


@dataclass(frozen=True)
class SynthConfig:
    """What may be tuned."""

    mix: Mix = field(default_factory=Mix)
    heldout_share: float = 0.2
    """Share of the places that only held-out requests name."""
    distractors: tuple[int, int] = (1, 2)
    """Fewest and most tools on offer beyond those of the chain."""
    distractors_by: By = "family"
    """How they are chosen."""
    difficulty: bool = False
    """Whether a row's metadata say how hard it is: steps, levels, width, picks, and the distractors by name."""
    prune: bool = False
    """Whether patterns are made arc-consistent before anything is drawn: long ones are then filled faster, and the same
    seed gives other rows."""
    same_chain: int = 3
    """How often one chain may be asked for, in different words."""
    similarity: float = 0.85
    """Texts whose word triples overlap this much count as one (1 keeps all but equal ones)."""
    misses: int = 60
    """Tries without a row after which a pattern is left."""
    writer: WriterConfig = field(default_factory=WriterConfig)
    checks: CheckConfig = field(default_factory=CheckConfig)


@dataclass
class SplitReport:
    """What became of one split."""

    wanted: int
    rows: int = 0
    patterns: dict[str, int] = field(default_factory=dict[str, int])
    steps: dict[int, int] = field(default_factory=dict[int, int])
    domains: dict[str, int] = field(default_factory=dict[str, int])
    rejected: dict[str, int] = field(default_factory=dict[str, int])
    """Reason → tries that ended with it."""
    infeasible: dict[str, str] = field(default_factory=dict[str, str])
    """Pattern → why it can't be filled, where that is proven."""
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """Reason → one rejected text with its detail."""

    def reject(self, reason: Reason, example: str) -> None:
        """Count a try that gave no row."""
        self.rejected[reason.value] = self.rejected.get(reason.value, 0) + 1
        self.examples.setdefault(reason.value, example)


@dataclass(frozen=True)
class SynthReport:
    """What a run made."""

    train: SplitReport
    heldout: SplitReport
    files: tuple[str, ...]
    places_train: int
    places_heldout: int

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return asdict(self)


def synthesise(
    world_path: Path,
    schemas_path: Path | None,
    out_dir: Path,
    train: int,
    heldout: int,
    seed: int = 0,
    *,
    config: SynthConfig | None = None,
    templates: str | Path | None = None,
    observation_tokens: int | None = None,
    observation_chars: int | None = None,
    count: TokenCounter | None = None,
) -> SynthReport:
    """Write `train.jsonl`, `train.pkl`, `heldout.jsonl` and `heldout.pkl`; return what was made.

    Args:
        world_path: a recorded world.
        schemas_path: its tools; None for those of the project.
        out_dir: where the files go.
        train: training rows wanted.
        heldout: held-out rows wanted.
        seed: key of all chance.
        config: mix, split, checks.
        templates: set of workflow templates, as `load_set` takes it.
        observation_tokens: what the model will see of a result at most; picks name only what is in sight.
        observation_chars: the same in characters.
        count: tokenizer for `observation_tokens`; an estimate without it.

    Raises:
        DataError: not one row could be made. Fewer rows than wanted are no error; the report says so.
    """
    schemas = load_schemas(schemas_path)
    cut = ObservationCut(observation_tokens, observation_chars, count)
    with CachedWorld.open(world_path, schemas) as world:
        maker = Maker(
            WorldIndex(world, seen_through(cut)), load_set(schemas, templates), seed, config or SynthConfig()
        )
        made = {"train": list(maker.rows("train", train)), "heldout": list(maker.rows("heldout", heldout))}
    files = [out_dir / f"{name}{suffix}" for name in made for suffix in (".jsonl", ".pkl")]
    for path in files:
        write_records(path, made[path.stem])
    reports = maker.reports
    return SynthReport(
        reports["train"], reports["heldout"], tuple(map(str, files)), len(maker.split.train), len(maker.split.heldout)
    )


class Maker:
    """Makes the rows of one run; texts and chains are unlike across all its splits."""

    def __init__(self, index: WorldIndex, patterns: Sequence[Pattern], seed: int, config: SynthConfig) -> None:
        self._index = index
        self._seed = seed
        self._config = config
        wanted = config.mix.shares(patterns)
        narrowed = [narrow(p, index) for p in patterns if p.id in wanted]
        self._patterns = {p.id: p for p in narrowed if isinstance(p, Pattern)}
        self._unseen = {p.pattern: str(p) for p in narrowed if isinstance(p, Infeasible)}
        self._domains: dict[str, Domains] = {}
        for name in list(self._patterns) if config.prune else ():
            self._prune(name)
        self._lengths = {name: len(p.steps) for name, p in self._patterns.items()}
        usable = tuple(self._patterns.values())
        self._shares = config.mix.shares(usable, [p.id for p in patterns]) if usable else {}
        self._texts = NearDuplicates(config.similarity)
        self._chains: Counter[tuple[object, ...]] = Counter()
        self.split: EntitySplit = split_places(place_groups(self._patterns.values(), index), config.heldout_share, seed)
        """Which places go where."""
        self.reports: dict[str, SplitReport] = {}
        """Split → report, filled by `rows`."""

    def rows(self, split: str, wanted: int) -> Iterator[dict[str, Any]]:
        """Yield up to `wanted` records of the split `train` or `heldout`."""
        report = self.reports[split] = SplitReport(wanted, infeasible=dict(self._unseen))
        allowed = self.split.in_train if split == "train" else self.split.in_heldout
        shares, tries, misses = dict(self._shares), Counter[str](), Counter[str]()
        while report.rows < wanted and shares:
            length = neediest(by_length(shares, self._lengths), report.steps)
            name = neediest({n: s for n, s in shares.items() if self._lengths[n] == length}, report.patterns)
            tries[name] += 1
            row = self._try(split, self._patterns[name], tries[name], allowed, report)
            misses[name] = 0 if row else misses[name] + 1
            if row:
                _count(report, row)
                yield row
            elif misses[name] >= self._config.misses or name in report.infeasible:
                del shares[name]
        if wanted and not report.rows:
            raise DataError(
                f"not one row of the {split} split could be made",
                where="synth",
                got=report.infeasible or report.rejected,
            )

    def _prune(self, name: str) -> None:
        """Make one pattern arc-consistent, or leave it out with the reason why it can't be."""
        found = prune(self._patterns[name], self._index)
        if isinstance(found, Infeasible):
            self._unseen[name] = str(found)
            del self._patterns[name]
        else:
            self._domains[name] = found

    def _try(
        self, split: str, pattern: Pattern, number: int, allowed: Callable[[str], bool], report: SplitReport
    ) -> dict[str, Any] | None:
        rng = random.Random(f"{self._seed}/{split}/{pattern.id}/{number}")
        chain = draw(
            pattern, self._index, rng, allowed, place_of=self.split.place_of, domains=self._domains.get(pattern.id)
        )
        if isinstance(chain, Infeasible):
            if chain.proven:
                report.infeasible[pattern.id] = str(chain)
            return report.reject(Reason.NO_CHAIN, str(chain))
        text = write(chain, rng, self._config.writer)
        problem = self._problem(chain, text)
        if problem is not None:
            reason, detail = problem
            return report.reject(reason, f"{detail}: {text}")
        self._chains[chain.identity()] += 1
        return self._row(split, chain, text, rng, report.patterns.get(pattern.id, 0))

    def _problem(self, chain: Chain, text: str) -> tuple[Reason, str] | None:
        schemas = self._index.schemas
        for step in chain.steps:
            wrong = check_arguments(schemas[step.function], step.arguments)
            if wrong:
                return Reason.INVALID_CALL, f"{step.function}: {wrong[0]}"
        if self._chains[chain.identity()] >= self._config.same_chain:
            return Reason.SAME_CHAIN, chain.pattern.id
        found = query_problems(chain, text, schemas, self._config.checks)
        if found:
            return found[0].reason, found[0].detail
        return None if self._texts.add(text) else (Reason.NEAR_DUPLICATE, chain.pattern.id)

    def _row(self, split: str, chain: Chain, text: str, rng: random.Random, number: int) -> dict[str, Any]:
        gold = [step.function for step in chain.steps]
        fewest, most = self._config.distractors
        tools = offer(gold, self._index.schemas, rng, fewest, most, self._config.distractors_by)
        pattern = chain.pattern
        task = Task(
            f"{split}-{pattern.id}-{number}", text, tools, chain.steps, pattern.id, pattern.domain, answer(chain, rng)
        )
        answers = [WorldAnswer(ResultStatus.OK, entry.value) for entry in chain.entries]
        metadata = {
            "seed": self._seed,
            "split": split,
            "picks": {name: str(pick) for name, pick in chain.picks.items()},
            "values": dict(chain.values),
        }
        if self._config.difficulty:
            metadata["difficulty"] = self._difficulty(chain, tools)
        return record_from_task(task, answers, metadata)


    def _difficulty(self, chain: Chain, tools: Sequence[str]) -> dict[str, Any]:
        gold = {step.function for step in chain.steps}
        return {
            "steps": len(chain.steps),
            "levels": len(chain.pattern.levels),
            "width": chain.pattern.width,
            "picks": len(chain.picks),
            "distractors": [name for name in tools if name not in gold],
            "distractors_by": self._config.distractors_by,
        }


def _count(report: SplitReport, row: Mapping[str, Any]) -> None:
    report.rows += 1
    length = len(row["steps"])
    report.steps[length] = report.steps.get(length, 0) + 1
    for counts, key in ((report.patterns, row["workflow_id"]), (report.domains, row["domain"])):
        counts[key] = counts.get(key, 0) + 1
