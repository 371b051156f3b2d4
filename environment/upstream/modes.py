"""Opening a world in one of three modes.

    recorded    what is recorded, and nothing else: a miss is a miss, no code that could reach a network is loaded
    record      what is not recorded is asked of an upstream, kept in a journal beside the world, then given
    simulated   the seed world itself, without any file
"""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.recording import RecordingWorld
from environment.cache.store import CachedWorld
from environment.core.dispatch import World
from environment.core.errors import ConfigError
from environment.core.schema import ToolSchema
from environment.core.upstream import Upstream
from environment.upstream.kinds import Mode, UpstreamKind


@dataclass(frozen=True)
class UpstreamSettings:
    """Whom to ask, and how."""

    kind: UpstreamKind = UpstreamKind.NONE
    seed: int = 0
    """Of the seed world."""
    size: WorldSize | None = None
    address: str | None = None
    """Of the live service, where it is not its own."""
    per_second: float = 5.0
    max_requests: int | None = None
    """Requests of the live service, tries counted; None is no limit."""
    doubtful: bool = False
    timeout_s: float = 60.0
    tries: int = 4


def open_upstream(
    settings: UpstreamSettings,
    schemas: Mapping[str, ToolSchema] | None = None,
    spent: int = 0,
    note: Callable[[], None] = lambda: None,
) -> Upstream:
    """Return who is asked.

    Args:
        spent: requests of the live service that count against `max_requests` already.
        note: called before each further one.

    Raises:
        ConfigError: a live service without a key, or a setting out of range.
    """
    if settings.kind is UpstreamKind.SEED:
        return SeedWorld(settings.seed, settings.size, schemas)
    if settings.kind is UpstreamKind.NONE:
        from environment.upstream.nobody import NoUpstream

        return NoUpstream(schemas)
    return _rapidapi(settings, schemas, spent, note)


def _rapidapi(
    settings: UpstreamSettings, schemas: Mapping[str, ToolSchema] | None, spent: int, note: Callable[[], None]
) -> Upstream:
    # imported here, so that a recorded or simulated world never loads what can reach a network
    from environment.upstream.endpoints import read_service
    from environment.upstream.http import HttpLimits
    from environment.upstream.patience import Budget, Patience
    from environment.upstream.rapidapi import Key, RapidApi, RapidApiSettings

    if settings.timeout_s <= 0:
        raise ConfigError("out of range", where="timeout", got=settings.timeout_s, expected="seconds above 0")
    service = read_service()
    quiet = min(30.0, settings.timeout_s)
    how = RapidApiSettings(
        address=settings.address, per_second=settings.per_second, doubtful=settings.doubtful, seed=settings.seed,
        limits=HttpLimits(min(10.0, quiet), quiet, settings.timeout_s), patience=Patience(settings.tries),
    )  # fmt: skip
    budget = Budget(settings.max_requests, spent, note)
    return RapidApi(Key.from_environment(service.key_variable), how, budget, schemas, service)


def open_world(
    mode: Mode,
    path: Path | None,
    upstream: UpstreamSettings | None = None,
    schemas: Mapping[str, ToolSchema] | None = None,
) -> World:
    """Return a world in a mode.

    Args:
        path: the recorded world; for `record` it may be missing, then everything is asked for.

    Raises:
        ConfigError: settings that contradict the mode.
        WorldError: no recorded world, or a damaged one.
    """
    asked = upstream or UpstreamSettings()
    if mode is Mode.SIMULATED:
        if path is not None:
            fix = "leave the file out, or use --mode record --upstream seed to add to it"
            raise ConfigError("a simulated world has no file", where="--mode simulated", got=str(path), fix=fix)
        return SeedWorld(asked.seed, asked.size, schemas)
    if path is None:
        raise ConfigError("no recorded world given", where=f"--mode {mode}", fix="name the file, or --mode simulated")
    if mode is Mode.RECORDED:
        if asked.kind is not UpstreamKind.NONE:
            fix = "--mode record asks an upstream"
            raise ConfigError("a recorded world asks nobody", where="--mode recorded", got=asked.kind.value, fix=fix)
        return CachedWorld.open(path, schemas)
    if asked.kind is UpstreamKind.NONE:
        fix = "--upstream seed or --upstream rapidapi"
        raise ConfigError("nobody to record from", where="--mode record", got="none", fix=fix)
    base = CachedWorld.open(path, schemas) if path.exists() else None
    return RecordingWorld(journal_of(path), open_upstream(asked, schemas), base)


def journal_of(path: Path) -> Path:
    """Return where new answers of a recorded world are kept until it is sealed."""
    return path.with_name(f"{path.name}.journal")
