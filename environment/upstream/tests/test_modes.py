"""The three modes of a world, and that a recorded one reaches no network."""
from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import pytest

from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.build import build_seed_cache
from environment.cache.plan import planned_calls
from environment.cache.recording import RecordingWorld, seal
from environment.cache.store import CachedWorld
from environment.core.calls import ResultStatus
from environment.core.errors import ConfigError, WorldError
from environment.core.upstream import Upstream
from environment.upstream.kinds import Mode, UpstreamKind
from environment.upstream.modes import UpstreamSettings, journal_of, open_upstream, open_world
from environment.upstream.nobody import NoUpstream

SIZE = WorldSize(cities=4, hotels=1, attractions=1, cars=1, destinations=1, dates=1)
SEED = UpstreamSettings(UpstreamKind.SEED, 3, SIZE)
UNRECORDED = ("Search_Flight_Location", {"query": "Nowhere at all"})


@pytest.fixture
def guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no socket be made."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("a socket was opened")

    for name in ("socket", "create_connection", "getaddrinfo"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    build_seed_cache(tmp_path / "w.db", 3, SIZE)
    return tmp_path / "w.db"


@pytest.mark.usefixtures("guarded")
def test_a_recorded_world_answers_everything_it_can_and_reaches_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAPID_API_KEY", "a-key-that-would-allow-it")
    world = open_world(Mode.RECORDED, path)
    calls = list(planned_calls(SeedWorld(3, SIZE)))
    assert all(world.call(*call).status is ResultStatus.OK for call in calls)
    for tool in world.schemas:
        assert world.call(tool, {}).status is ResultStatus.INVALID_ARGUMENTS
    assert world.call(*UNRECORDED).status is ResultStatus.MISS
    assert not journal_of(path).exists()


def test_a_recorded_world_loads_nothing_that_could_reach_a_network(path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from environment.upstream.modes import Mode, open_world\n"
        f"world = open_world(Mode.RECORDED, Path({str(path)!r}))\n"
        "world.call('Search_Flight_Location', {'query': 'Nowhere'})\n"
        "print([m for m in sys.modules if m in ('http.client', 'environment.upstream.http', 'aiohttp', 'urllib3')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


def test_a_recording_world_asks_keeps_and_is_sealed(path: Path) -> None:
    site = SeedWorld(3, SIZE)
    offers = [call for call in planned_calls(site) if call[0] == "Search_Hotels"]
    new = ("Search_Hotels", offers[0][1] | {"adults": 7})
    assert open_world(Mode.RECORDED, path).call(*new).status is ResultStatus.MISS
    world = open_world(Mode.RECORD, path, SEED)
    assert isinstance(world, RecordingWorld)
    assert world.call(*new) == site.call(*new) and world.call(*offers[0]) == site.call(*offers[0])
    assert world.counts["upstream"] == world.counts["base"] == 1
    seal(journal_of(path), path, site.schemas, path)
    assert open_world(Mode.RECORDED, path).call(*new) == site.call(*new)


def test_recording_may_begin_with_nothing(tmp_path: Path) -> None:
    world = open_world(Mode.RECORD, tmp_path / "new.db", SEED)
    place = SeedWorld(3, SIZE).facts.places[0]
    assert world.call("Search_Flight_Location", {"query": place.city}).status is ResultStatus.OK
    assert not (tmp_path / "new.db").exists() and journal_of(tmp_path / "new.db").exists()


@pytest.mark.usefixtures("guarded")
def test_a_simulated_world_needs_no_file_and_no_network() -> None:
    world, site = open_world(Mode.SIMULATED, None, SEED), SeedWorld(3, SIZE)
    for call in list(planned_calls(site))[::50]:
        assert world.call(*call) == site.call(*call)


@pytest.mark.parametrize(
    ("mode", "file", "upstream", "said"),
    [
        (Mode.SIMULATED, "w.db", None, "has no file"),
        (Mode.RECORDED, None, None, "no recorded world given"),
        (Mode.RECORD, None, SEED, "no recorded world given"),
        (Mode.RECORD, "w.db", None, "nobody to record from"),
        (Mode.RECORDED, "w.db", SEED, "asks nobody"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(mode: Mode, file: Any, upstream: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        open_world(mode, None if file is None else Path(file), upstream)


def test_a_damaged_world_is_refused_in_every_mode(tmp_path: Path) -> None:
    (tmp_path / "w.db").write_bytes(b"SQLite format 3\0" + b"\0" * 200)
    with pytest.raises(WorldError):
        open_world(Mode.RECORDED, tmp_path / "w.db")
    with pytest.raises(WorldError):
        open_world(Mode.RECORD, tmp_path / "w.db", SEED)


def test_a_live_service_needs_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAPID_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="no key for the live service"):
        open_upstream(UpstreamSettings(UpstreamKind.RAPIDAPI))
    monkeypatch.setenv("RAPID_API_KEY", "k")
    live = open_upstream(UpstreamSettings(UpstreamKind.RAPIDAPI, max_requests=0))
    assert isinstance(live, Upstream) and live.provenance == "booking-com15"
    wrongs: list[dict[str, Any]] = [{"timeout_s": 0}, {"tries": 0}, {"address": "http://example.org"}]
    for wrong in wrongs:
        with pytest.raises(ConfigError):
            open_upstream(UpstreamSettings(UpstreamKind.RAPIDAPI, **wrong))


def test_nobody_has_no_answers_but_knows_the_tools() -> None:
    nobody = NoUpstream()
    assert isinstance(nobody, Upstream) and isinstance(SeedWorld(0, SIZE), Upstream)
    assert nobody.call(*UNRECORDED).status is ResultStatus.MISS
    assert nobody.call("Search_Flights", {}).status is ResultStatus.INVALID_ARGUMENTS
    assert nobody.call("X", {}).status is ResultStatus.UNKNOWN_TOOL


def test_a_cached_world_is_the_recorded_mode(path: Path) -> None:
    assert isinstance(open_world(Mode.RECORDED, path), CachedWorld)
