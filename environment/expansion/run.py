"""Expanding a world from beginning to end: lock, ask, seal, sum up. Killed at any moment, the same call goes on.

Every answer is in the journal before it is used, and the walk is a function of settings and answers; so going on means
walking again, and everything answered is found in the journal instead of being asked.
"""
from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import date, timedelta
from functools import partial
from typing import Any

from environment.booking.facts import FIRST_DAY
from environment.booking.places import all_places
from environment.booking.schemas import load_schemas
from environment.booking.seed_world import SeedWorld
from environment.cache.layout import files_as_world_errors
from environment.cache.recording import RecordingWorld, seal
from environment.cache.report import BuildReport
from environment.cache.store import CachedWorld
from environment.core.dispatch import World
from environment.core.errors import ConfigError, DataError, nearest_name
from environment.core.schema import ToolSchema
from environment.core.upstream import Upstream
from environment.expansion.asking import Asker
from environment.expansion.chains import Chain, ChainBuilder
from environment.expansion.estimate import Estimate, estimate
from environment.expansion.expander import ChainResult, Expander
from environment.expansion.files import ExpansionFiles
from environment.expansion.proposals import DrawnProposer, Proposer
from environment.expansion.settings import ExpandMode, ExpandSettings
from environment.expansion.workflows import read_workflows, select
from environment.upstream.kinds import UpstreamKind
from environment.upstream.modes import open_upstream
from environment.upstream.nobody import NoUpstream

Say = Callable[[str], None]


@dataclass(frozen=True)
class Expansion:
    """What came of an expansion."""

    results: tuple[ChainResult, ...]
    counts: Mapping[str, int]
    """`tool: status` → calls."""
    sources: Mapping[str, int]
    """Calls by what answered them: base, journal, upstream, failed."""
    spent: int
    """Requests sent to a paid service, since the last expansion that ended."""
    stopped: str | None
    """Why it ended early; None where every chain was walked."""
    report: BuildReport | None
    """Of the sealed world; None where nothing new came or a person stopped it."""


def expand(settings: ExpandSettings, say: Say = lambda _: None, halt: threading.Event | None = None) -> Expansion:
    """Expand a world.

    Args:
        say: called with a line for every step that is done.
        halt: once set, nothing more is asked; what was answered stays in the journal.

    Raises:
        ConfigError: settings that can't be followed; nothing was asked.
        WorldError: the world can't be read or written.
    """
    schemas, files = load_schemas(settings.schemas), ExpansionFiles(settings.world)
    chains = chosen_chains(settings, schemas)
    with files.locked():
        upstream = open_upstream(settings.upstream, schemas, files.spent(), files.spend)
        base = _base(settings, schemas, upstream)
        first_day = files.first_day(_first_day(settings))
        files.begin(first_day)
        with RecordingWorld(files.journal, upstream, base) as world:
            asker = Asker(world, upstream, settings.workers, files.unanswered(), files.leave_unanswered)
            with _halting(asker, upstream, halt):
                proposer = _model(settings, files, _proposer(settings, upstream, first_day))
                expander = Expander(asker, proposer, settings.sizes, settings.seed)
                results = _walk(chains, expander, settings.workflow_workers, say)
        spent, stopped = files.spent(), asker.stopped
        report = None if asker.halted else _seal(settings, files, schemas, base, finished=stopped is None)
    found = Expansion(tuple(results), dict(asker.counts), dict(world.counts), spent, stopped, report)
    _write_summary(settings, found)
    return found


def dry_run(settings: ExpandSettings) -> Estimate:
    """Return what an expansion would cost; nobody is asked and nothing is written."""
    schemas, files = load_schemas(settings.schemas), ExpansionFiles(settings.world)
    chains = chosen_chains(settings, schemas)
    nobody = NoUpstream(schemas)
    base = CachedWorld.open(settings.world, schemas) if settings.world.exists() else None
    world: World = base or nobody
    if files.journal.exists():
        world = RecordingWorld(files.journal, nobody, base)
    asker = Asker(world, nobody, settings.workers, files.unanswered(), lambda _: None)
    proposer = _proposer(settings, None, files.first_day(_first_day(settings)))
    with asker.working():
        return estimate(chains, Expander(asker, proposer, settings.sizes, settings.seed), asker, settings.sizes)


def chosen_chains(settings: ExpandSettings, schemas: Mapping[str, ToolSchema]) -> list[Chain]:
    """Return the chains that the settings name.

    Raises:
        DataError: an unknown tool or workflow, or a broken file of templates.
    """
    builder = ChainBuilder(schemas)
    if settings.mode is ExpandMode.INDEPENDENT:
        for name in settings.functions:
            if name not in schemas:
                near = nearest_name(name, schemas)
                raise DataError("unknown tool", where="--functions", got=name, nearest=near)
        return [builder.chain_to(name) for name in settings.functions or schemas]
    known = read_workflows(settings.templates, schemas) if settings.templates else list(builder.all_chains())
    return select(known, settings.workflows, settings.excluded)


def _base(settings: ExpandSettings, schemas: Mapping[str, ToolSchema], upstream: Upstream) -> CachedWorld | None:
    if not settings.world.exists():
        return None
    base = CachedWorld.open(settings.world, schemas)
    others = [source for source in base.sources() if source.startswith("seed-world ") and source != upstream.provenance]
    if others and settings.upstream.kind is UpstreamKind.SEED:
        fix = "give the seed it was built from (--world-seed)"
        raise ConfigError("the world was made from another seed", where=str(settings.world), got=others[0], fix=fix)
    return base


def _first_day(settings: ExpandSettings) -> date:
    if settings.first_date is not None:
        return settings.first_date
    return FIRST_DAY + timedelta(days=40) if settings.upstream.kind is UpstreamKind.SEED else _in_a_month()


def _in_a_month() -> date:
    return date.today() + timedelta(days=30)


def _proposer(settings: ExpandSettings, upstream: Upstream | None, first_day: date) -> Proposer:
    site = upstream
    if site is None and settings.upstream.kind is UpstreamKind.SEED:
        site = open_upstream(settings.upstream)
    places = site.facts.places if isinstance(site, SeedWorld) else all_places()
    return DrawnProposer(places, first_day, settings.seed)


def _model(settings: ExpandSettings, files: ExpansionFiles, drawn: Proposer) -> Proposer:
    if settings.model is None:
        return drawn
    # imported here, for it can reach a network
    from environment.expansion.model_proposer import ModelProposer, model_settings

    return ModelProposer(model_settings(settings.model, settings.model_address, files.proposals), drawn)


@contextmanager
def _halting(asker: Asker, upstream: Upstream, halt: threading.Event | None) -> Generator[None, None, None]:
    """Pass a halt on to the asker and to an upstream that waits, for as long as the block runs."""
    done, watched = threading.Event(), halt or threading.Event()

    def watch() -> None:
        while not done.is_set():
            if watched.wait(0.1):
                asker.halt()
                getattr(upstream, "halt", asker.halt)()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        with asker.working():
            yield
    finally:
        done.set()
        watcher.join()


def _walk(chains: Sequence[Chain], expander: Expander, workers: int, say: Say) -> list[ChainResult]:
    with ThreadPoolExecutor(workers, thread_name_prefix="workflow") as pool:
        try:
            return list(pool.map(partial(expander.walk, say=say), chains))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _seal(
    settings: ExpandSettings,
    files: ExpansionFiles,
    schemas: Mapping[str, ToolSchema],
    base: CachedWorld | None,
    *,
    finished: bool,
) -> BuildReport | None:
    """Put the journal's answers into the world; None where there are none."""
    with RecordingWorld(files.journal, NoUpstream(schemas)) as journal:
        empty = journal.kept_count() == 0
    report = None if empty else seal(files.journal, settings.world, schemas, settings.world if base else None)
    files.tidy(finished=finished)
    return report


def _write_summary(settings: ExpandSettings, found: Expansion) -> None:
    path = settings.summary or settings.world.with_name(f"{settings.world.name}.expansion.json")
    half = path.with_name(f".{path.name}.part")
    with files_as_world_errors("can't write the summary", path):
        half.write_text(json.dumps(_summary(settings, found), indent=1, default=str) + "\n", encoding="utf-8")
        half.replace(path)


def _summary(settings: ExpandSettings, found: Expansion) -> dict[str, Any]:
    world = found.report
    return {
        "settings": asdict(settings),
        "calls": dict(sorted(found.counts.items())),
        "answered_by": found.sources,
        "requests_sent": found.spent,
        "stopped": found.stopped,
        "entries": world.entries if world else None,
        "content_hash": world.content_hash if world else None,
        "workflows": [asdict(result) for result in found.results],
    }
