"""Run a suite with a model and write what came of it; the same loop for every suite.

    plan ─► owed ─► workers, so many at once ─► suite.episode ─► store (one writer) ─► judge ─► summary
                      │ nothing queued: a worker takes the next when it has finished one

writes OUT/NAME.json (the summary), OUT/NAME.trajectories.jsonl and OUT/NAME.settings.json. Started again, it repeats
only what is missing; where nothing is missing it starts no server at all.

A failure is sorted here, once: what no retry can mend (a wrong key, an unknown model, a full disk) stops the run with
everything finished kept; what may pass (an endpoint that is away, a broken world, an episode beyond its time) makes the
episode void, to be run again; whatever a model writes is data.
"""
from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from environment.core.errors import ConfigError, DataError, StageError
from environment.core.trajectory import StopReason, Trajectory
from environment.session.session import describe
from evaluation.model import ModelUnderTest, model_under_test
from evaluation.policy.chat import Usage
from evaluation.settings import RunSettings
from evaluation.store import Key, TrajectoryStore, key_of, read_trajectories, write_whole
from evaluation.suite import Item, Judged, Suite

Progress = Callable[[int, int], None]
"""Called with (episodes done, episodes in all) after each episode."""
GIVE_UP_AFTER = 20
"""So many infrastructure failures in a row mean that the endpoint or the world is gone."""
SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Place:
    """Where the results of one run go: OUT/NAME.*."""

    out: Path
    name: str
    """Of the results: `base`, `sft`, `rl`, …; the beginning of file names, so letters, digits and `._-` alone."""

    def __post_init__(self) -> None:
        if not SAFE_NAME.fullmatch(self.name):
            what = "a name that can't begin a file name"
            raise ConfigError(what, where="name", got=self.name, expected="up to 100 letters, digits, dots, _ and -")

    @property
    def stem(self) -> Path:
        """The common beginning of the run's files."""
        return self.out / self.name

    @property
    def summary(self) -> Path:
        """The summary file."""
        return self.out / f"{self.name}.json"


def run(
    suite: Suite[Any],
    settings: RunSettings,
    place: Place,
    manifest: dict[str, Any],
    *,
    force: bool = False,
    warnings: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Evaluate and return the summary, which is also written to OUT/NAME.json.

    Args:
        manifest: everything that decides the outcome; a run begun with another one is not continued.
        force: continue all the same; what differed is kept in the settings file.
        warnings: what else a reader of the summary should know.

    Raises:
        StageError: the endpoint is gone for good, or results can't be written.
        ConfigError: OUT/NAME was begun with other settings.
    """
    began = time.monotonic()
    with TrajectoryStore(place.out, place.name, manifest, force=force) as store:
        todo = [k for k in planned(suite.items, settings.samples) if k not in store.done]
        work = _Work(suite, settings, place, store, progress)
        start_s = asyncio.run(work.all(todo)) if todo else None
    asyncio.run(suite.review(_finished(store.path), place.stem))
    judged = list(judge_stored(store.path, suite, settings.samples))
    summary = {"name": place.name, **suite.summarise(judged, settings.samples, settings.seed)}
    previous = _read(place.summary)
    times = {"wall_s": round(time.monotonic() - began, 2), "server_start_s": start_s and round(start_s, 2)}
    summary |= {k: previous.get(k) for k in times} if not todo and previous else times
    summary["warnings"] = [*warnings, *summary.get("warnings", ())]
    summary["settings"] = store.settings
    write_whole(place.summary, json.dumps(summary, indent=1).encode() + b"\n")
    return summary


def planned(items: Sequence[Item[Any]], samples: int) -> list[Key]:
    """Return what is to be run: the episodes of an item side by side, so that the server reuses their prompt."""
    return [(i.id, sample) for i in items for sample in range(samples + 1)]


def judge_stored(path: Path, suite: Suite[Any], samples: int) -> Iterator[Judged]:
    """Yield the last trajectory of each planned episode with its outcome, None where the infrastructure failed it."""
    by_id = {i.id: i for i in suite.items}
    last = {key_of(t): t for t in read_trajectories(path) if t.task_id in by_id and key_of(t)[1] <= samples}
    for (item_id, _), trajectory in sorted(last.items()):
        void = trajectory.stop == StopReason.INFRASTRUCTURE
        item = by_id[item_id]
        yield Judged(item, trajectory, None if void else suite.judge(item, trajectory))


@dataclass
class _Work:
    """The episodes of one run in progress."""

    suite: Suite[Any]
    settings: RunSettings
    place: Place
    store: TrajectoryStore
    progress: Progress | None
    items: dict[str, Item[Any]] = field(init=False)
    failures: int = 0
    """Infrastructure failures in a row."""

    def __post_init__(self) -> None:
        self.items = {}
        for item in self.suite.items:
            if item.id in self.items:
                raise DataError("the same id twice", where=f"suite {self.suite.name}", got=item.id)
            self.items[item.id] = item

    async def all(self, todo: Sequence[Key]) -> float | None:
        """Run the episodes, so many at once, and return the seconds our server took to start."""
        keys = iter(todo)
        async with model_under_test(self.settings) as model:
            await _together([self._worker(keys, model) for _ in range(self.settings.concurrency)])
            return model.server.start_s if model.server else None

    async def _worker(self, keys: Iterator[Key], model: ModelUnderTest) -> None:
        for key in keys:
            trajectory = await self._episode(key, model)
            if model.fatal is not None:
                raise StageError(str(model.fatal), where=f"eval {self.place.name}") from model.fatal
            self.store.add(trajectory)
            self._watch(trajectory, model)
            if self.progress is not None:
                self.progress(len(self.store.done), len(self.items) * (self.settings.samples + 1))

    async def _episode(self, key: Key, model: ModelUnderTest) -> Trajectory:
        item, usages = self.items[key[0]], list[Usage]()
        seat = model.seat(*key, self.suite.gold(item) if self.settings.gold else None, usages)
        clock = asyncio.timeout(self.settings.item_seconds)
        try:
            async with clock:
                trajectory = await self.suite.episode(item, seat)
        except Exception as error:  # a suite's failure is data; the one place where it becomes so
            slow = f"the episode exceeded {self.settings.item_seconds:g} s" if clock.expired() else None
            trajectory = void(item.id, slow or describe(error))
        used = {f"{kind}_tokens": sum(getattr(u, kind) for u in usages) for kind in ("prompt", "completion")}
        used |= {"requests": sum(u.requests for u in usages), "sample": key[1]}
        meta = {**trajectory.meta, **used, "temperature": seat.sampling.temperature}
        return _own_clock(replace(trajectory, meta=meta, seed=seat.sampling.seed))

    def _watch(self, trajectory: Trajectory, model: ModelUnderTest) -> None:
        """Stop the run when nothing works any more, rather than fail every remaining episode."""
        failed = trajectory.stop == StopReason.INFRASTRUCTURE
        self.failures = self.failures + 1 if failed else 0
        if failed and (model.dead or self.failures >= GIVE_UP_AFTER):
            gone = "the model server ended" if model.dead else None
            what = gone or f"{self.failures} episodes in a row failed by infrastructure"
            fix = "\n".join(filter(None, ["mend it and run again: finished episodes are kept", model.log_tail()]))
            raise StageError(what, where=f"eval {self.place.name}", got=trajectory.error, fix=fix)


async def _together(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines side by side; the first failure cancels the others and is raised as it is."""
    running = [asyncio.ensure_future(w) for w in work]
    try:
        await asyncio.gather(*running)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def void(item_id: str, error: str) -> Trajectory:
    """Return the trajectory of an episode that the infrastructure failed before it had one."""
    return Trajectory(item_id, (), (), (), (), StopReason.INFRASTRUCTURE, error=error)


def _own_clock(trajectory: Trajectory) -> Trajectory:
    """Count a time limit as infrastructure: how fast tokens come is the machine's doing, not the model's."""
    if trajectory.stop != StopReason.MAX_SECONDS:
        return trajectory
    return replace(trajectory, stop=StopReason.INFRASTRUCTURE, error="the episode exceeded its time limit")


def _finished(path: Path) -> Iterator[Trajectory]:
    return (t for t in read_trajectories(path) if t.stop != StopReason.INFRASTRUCTURE)


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
