"""Run a model on held-out tasks against the recorded world and write what came of it.

    run(HeldoutSettings(name="sft", rows=…, world=…, out=run / "eval", model=folder), reward=score)

writes OUT/NAME.json (the summary), OUT/NAME.trajectories.jsonl and OUT/NAME.settings.json. Started again, it repeats
only what is missing; where nothing is missing it starts no server at all.
"""
from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from BFCL.parse.hermes import parse_turn
from environment.booking.schemas import load_schemas
from environment.core.errors import ConfigError, StageError
from environment.core.task import Task
from environment.core.trajectory import StopReason, Trajectory
from environment.server.endpoint.chat import Endpoint, Retry
from environment.server.opening import open_world
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import tool_functions
from environment.session.session import Session
from environment.session.world import World
from evaluation.judge import Reward, Schemas, judge
from evaluation.policy.chat import CountingPolicy, NativePolicy, RawPolicy, Sampling
from evaluation.rows import read_tasks
from evaluation.serve import ModelServer, ServeSettings
from evaluation.store import Key, TrajectoryStore, key_of, read_trajectories, write_whole
from evaluation.summary import Judged, summarise

Progress = Callable[[int, int], None]
"""Called with (episodes done, episodes in all) after each episode."""
GIVE_UP_AFTER = 20
"""So many infrastructure failures in a row mean that the endpoint or the world is gone."""


@dataclass(frozen=True)
class HeldoutSettings:
    """What is evaluated, on what, and how. Either `model` or `base_url` with `model_name` must be given."""

    name: str
    """Of the results: `base`, `sft`, `rl`."""
    rows: Path
    """Parquet as `preprocess` writes it, or JSON Lines of tasks."""
    world: Path
    """The recorded world."""
    out: Path
    """Folder of the results, usually RUN/eval."""
    model: Path | None = None
    """A Hugging Face folder, served here; beside a `base_url` it only lends its tokenizer."""
    base_url: str | None = None
    model_name: str = "policy"
    api_key_env: str = "OPENAI_API_KEY"
    """Name of the environment variable that holds the key for `base_url`; the key itself is kept nowhere."""
    mode: Literal["raw", "native"] = "raw"
    schemas: Path | None = None
    """Tool schemas; None: the project's own."""
    limits: Limits = field(default_factory=Limits)
    samples: int = 4
    """Sampled episodes a task, beside the greedy one."""
    temperature: float = 1.0
    top_p: float = 1.0
    max_turn_tokens: int = 256
    seed: int = 0
    limit: int | None = None
    """Only the first so many tasks."""
    concurrency: int = 32
    retry_tries: int = 6
    """Tries of one request in all."""
    instructions: str | None = None
    """Replaces the system prompt."""
    serve: ServeSettings = field(default_factory=ServeSettings)
    serve_log: Path | None = None

    def __post_init__(self) -> None:
        if self.model is None and self.base_url is None:
            raise ConfigError("nothing to evaluate", where="heldout", fix="give a model folder or a base_url")
        for name, least in (("samples", 0), ("concurrency", 1), ("max_turn_tokens", 1)):
            if getattr(self, name) < least:
                raise ConfigError(f"heldout.{name}", got=getattr(self, name), expected=f"{least} or more")

    def sampling(self, task_id: str, sample: int) -> Sampling:
        """Return how sample `sample` of a task is decoded; each (task, sample) has its own seed."""
        digest = hashlib.sha256(f"{self.seed}\0{task_id}\0{sample}".encode()).digest()
        seed = int.from_bytes(digest[:4], "big") >> 1
        if sample == 0:
            return Sampling(0.0, 1.0, self.max_turn_tokens, seed)
        return Sampling(self.temperature, self.top_p, self.max_turn_tokens, seed)

    def manifest(self, world_hash: str) -> dict[str, Any]:
        """Return everything that decides the outcome, by content rather than by path; no key is in it."""
        return {
            "rows": _digest(self.rows),
            "world": world_hash,
            "model": urlsplit(self.base_url or "").hostname if self.model is None else model_digest(self.model),
            "model_name": self.model_name,
            "schemas": _digest(self.schemas) if self.schemas else "own",
            "mode": self.mode,
            "limits": asdict(self.limits),
            "samples": self.samples,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_turn_tokens": self.max_turn_tokens,
            "max_model_len": self.serve.max_model_len if self.base_url is None else None,
            "seed": self.seed,
            "limit": self.limit,
            "instructions": self.instructions,
        }


def run(settings: HeldoutSettings, *, reward: Reward | None = None, progress: Progress | None = None) -> dict[str, Any]:
    """Evaluate and return the summary, which is also written to OUT/NAME.json.

    Raises StageError when the endpoint is gone for good, and ConfigError when OUT/NAME was begun with other settings.
    """
    began = time.monotonic()
    tasks = read_tasks(settings.rows, settings.limit)
    schemas = load_schemas(settings.schemas)
    world = open_world(settings.world, schemas)
    try:
        with TrajectoryStore(settings.out, settings.name, settings.manifest(world.content_hash)) as store:
            todo = [k for k in _plan(tasks, settings.samples) if k not in store.done]
            work = _Work(settings, {t.id: t for t in tasks}, schemas, world, store, progress)
            start_s = asyncio.run(work.all(todo)) if todo else None
        episodes = _judge(store.path, tasks, settings.samples, schemas, reward)
        summary = {"name": settings.name, **summarise(tasks, episodes, settings.samples, settings.seed)}
    finally:
        world.close()
    previous = _read(settings.out / f"{settings.name}.json")
    times = {"wall_s": round(time.monotonic() - began, 2), "server_start_s": start_s and round(start_s, 2)}
    summary |= {k: previous.get(k) for k in times} if not todo and previous else times
    summary["settings"] = store.settings
    write_whole(settings.out / f"{settings.name}.json", json.dumps(summary, indent=1).encode() + b"\n")
    return summary


@dataclass
class _Work:
    """The episodes of one run in progress."""

    settings: HeldoutSettings
    tasks: dict[str, Task]
    schemas: Schemas
    world: World
    store: TrajectoryStore
    progress: Progress | None
    failures: int = 0
    """Infrastructure failures in a row."""

    async def all(self, todo: Sequence[Key]) -> float | None:
        """Run the episodes, so many at once, and return the seconds the server took to start."""
        count = _token_counter(self.settings.model)
        keys = iter(todo)
        with _server(self.settings) as server:
            url = self.settings.base_url or (server.base_url if server else "")
            async with self._endpoint(url) as endpoint:
                await _together([self._worker(keys, endpoint, server, count) for _ in range(self.settings.concurrency)])
        return server.start_s if server else None

    @contextlib.asynccontextmanager
    async def _endpoint(self, url: str) -> AsyncIterator[Endpoint]:
        key = os.environ.get(self.settings.api_key_env) if self.settings.base_url else None
        retry = Retry(tries=self.settings.retry_tries)
        async with Endpoint(url, self.settings.model_name, key, retry, connections=self.settings.concurrency) as made:
            yield made

    async def _worker(
        self, keys: Iterator[Key], endpoint: Endpoint, server: ModelServer | None, count: Callable[[str], int] | None
    ) -> None:
        for key in keys:
            trajectory = await self._episode(key, endpoint, count)
            if endpoint.fatal is not None:
                raise StageError(str(endpoint.fatal), where=f"eval {self.settings.name}") from endpoint.fatal
            self.store.add(trajectory)
            self._watch(trajectory, server)
            if self.progress is not None:
                self.progress(len(self.store.done), len(self.tasks) * (self.settings.samples + 1))

    async def _episode(self, key: Key, endpoint: Endpoint, count: Callable[[str], int] | None) -> Trajectory:
        task, sampling = self.tasks[key[0]], self.settings.sampling(*key)
        make: Callable[..., CountingPolicy] = RawPolicy if self.settings.mode == "raw" else NativePolicy
        policy = make(endpoint, tool_functions(task, self.schemas), sampling)
        session = Session(
            task, self.world, self.schemas, self.settings.limits, parse_turn, sampling.seed,
            count=count, instructions=self.settings.instructions,
        )
        trajectory = await drive(policy, session)
        usage = {"prompt_tokens": policy.usage.prompt, "completion_tokens": policy.usage.completion}
        meta = {**trajectory.meta, **usage, "requests": policy.usage.requests, "sample": key[1]}
        return _own_clock(replace(trajectory, meta={**meta, "temperature": sampling.temperature}))

    def _watch(self, trajectory: Trajectory, server: ModelServer | None) -> None:
        """Stop the run when nothing works any more, rather than fail every remaining episode."""
        failed = trajectory.stop == StopReason.INFRASTRUCTURE
        self.failures = self.failures + 1 if failed else 0
        dead = server is not None and not server.alive
        if failed and (dead or self.failures >= GIVE_UP_AFTER):
            what = "the model server ended" if dead else f"{self.failures} episodes in a row failed by infrastructure"
            tail = f"\n{server.log_tail()}" if server else ""
            fix = f"mend it and run again: finished episodes are kept{tail}"
            raise StageError(what, where=f"eval {self.settings.name}", got=trajectory.error, fix=fix)


async def _together(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines side by side; the first failure cancels the others and is raised as it is."""
    running = [asyncio.ensure_future(w) for w in work]
    try:
        await asyncio.gather(*running)
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def model_digest(folder: Path) -> str:
    """Return a digest of a model folder: all of each small file, size and samples of each large one."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.iterdir() if p.is_file()):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            if size <= 64 << 20:
                digest.update(file.read())
                continue
            for part in range(64):
                file.seek(part * (size - 65536) // 63)
                digest.update(file.read(65536))
    return digest.hexdigest()[:16]


def _own_clock(trajectory: Trajectory) -> Trajectory:
    """Count a time limit as infrastructure: how fast tokens come is the machine's doing, not the model's."""
    if trajectory.stop != StopReason.MAX_SECONDS:
        return trajectory
    return replace(trajectory, stop=StopReason.INFRASTRUCTURE, error="the episode exceeded its time limit")


def _plan(tasks: Sequence[Task], samples: int) -> list[Key]:
    """Return what is to be run: the episodes of a task side by side, so that the server reuses their prompt."""
    return [(t.id, sample) for t in tasks for sample in range(samples + 1)]


def _judge(
    path: Path, tasks: Sequence[Task], samples: int, schemas: Schemas, reward: Reward | None
) -> Iterator[Judged]:
    """Yield the last trajectory of each planned episode with its verdict."""
    by_id = {t.id: t for t in tasks}
    last = {key_of(t): t for t in read_trajectories(path) if t.task_id in by_id and key_of(t)[1] <= samples}
    for (task_id, _), trajectory in sorted(last.items()):
        yield Judged(trajectory, by_id[task_id], judge(trajectory, by_id[task_id], schemas, reward))


@contextlib.contextmanager
def _server(settings: HeldoutSettings) -> Iterator[ModelServer | None]:
    if settings.base_url is not None or settings.model is None:
        yield None
        return
    serve = replace(settings.serve, max_num_seqs=min(settings.serve.max_num_seqs, settings.concurrency))
    with ModelServer(settings.model, serve, settings.serve_log, settings.model_name) as server:
        yield server


def _token_counter(model: Path | None) -> Callable[[str], int] | None:
    """Return how many tokens of the model a text has, None without a tokenizer at hand."""
    if model is None or not (model / "tokenizer.json").is_file():
        return None
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _read(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
