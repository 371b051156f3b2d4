"""What can go wrong around recorded worlds and journals: full and read-only disks, damage, rivals, ids like paths."""
from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.recording import RecordingWorld, seal
from environment.cache.store import CachedWorld
from environment.cache.survey import nearest_calls
from environment.cache.tests.test_recording import TOOL, Service
from environment.cache.writer import CacheWriter
from environment.core.calls import ResultStatus
from environment.core.canonical import canonical_key
from environment.core.errors import WorldError

SCHEMAS = load_schemas()
SIZE = WorldSize(cities=3, hotels=1, attractions=1, cars=1, destinations=1, dates=1)


def in_child(work: Callable[[], None]) -> str:
    """Run some work in a forked process; return the message of the WorldError it ends with, empty if it ends well."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        text = "ended otherwise"
        try:
            work()
            text = ""
        except WorldError as error:
            text = str(error)
        except BaseException as error:  # the child must not run the parent's tests
            text = f"ended otherwise: {error!r}"
        finally:
            os.write(writer, text.encode()[:4000])
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        said = pipe.read().decode()
    os.waitpid(child, 0)
    return said


def full_disk() -> None:
    """Let no file of this process grow beyond 64 KiB, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))


def write(path: Path, count: int) -> None:
    with CacheWriter(path, SCHEMAS) as writer:
        for number in range(count):
            value = {"data": os.urandom(200).hex(), "n": number}
            writer.add(TOOL, {"query": f"town {number}"}, ResultStatus.OK, value, "x")


@pytest.mark.timeout(60)
def test_a_full_disk_ends_a_build_with_its_cause_and_leaves_the_old_world(tmp_path: Path) -> None:
    path = tmp_path / "w.db"
    write(path, 3)
    before = path.read_bytes()

    def build() -> None:
        full_disk()
        write(path, 3000)

    said = in_child(build)
    assert "can't write the world" in said and "free space" in said
    assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["w.db"]


@pytest.mark.timeout(60)
def test_a_full_disk_ends_recording_and_keeps_what_was_answered(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    RecordingWorld(path, Service()).close()

    def record() -> None:
        full_disk()
        with RecordingWorld(path, Service()) as world:
            for number in range(5000):
                world.call(TOOL, {"query": f"town {number}"})

    said = in_child(record)
    assert "can't keep an answer" in said or "can't read the journal" in said, said
    service = Service()
    with RecordingWorld(path, service) as world:
        kept = world.kept_count()
        assert kept > 0
        assert all(world.call(TOOL, {"query": f"town {n}"}).value["n"] == n + 1 for n in range(kept))
    assert service.asked == []


def unprivileged() -> None:
    """Become a user whom rights bind."""
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that other users reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_a_read_only_folder_can_be_read_and_not_written(open_folder: Path) -> None:
    folder = open_folder
    write(folder / "w.db", 3)
    folder.chmod(0o555)
    os.chmod(folder / "w.db", 0o444)

    def read() -> None:
        os.chdir(folder)
        unprivileged()
        with CachedWorld.open(Path("w.db")) as world:
            world.verify()
            if world.call(TOOL, {"query": "town 1"}).status is not ResultStatus.OK:
                raise WorldError("no answer")

    def build() -> None:
        os.chdir(folder)
        unprivileged()
        write(Path("w.db"), 5)

    def record() -> None:
        os.chdir(folder)
        unprivileged()
        RecordingWorld(Path("j.db"), Service())

    try:
        assert in_child(read) == ""
        assert "can't write the world" in in_child(build)
        assert "can't open the journal" in in_child(record)
    finally:
        folder.chmod(0o755)
    assert [p.name for p in folder.iterdir()] == ["w.db"]


def _garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 400)


def _cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2 // 4096 * 4096 + 700])


def _version(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def _sealed_instead(path: Path) -> None:
    write(path, 2)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_garbage, "can't open the journal|not a database"),
        (_version, "a journal of another format"),
        (_sealed_instead, "not a journal"),
        (_cut, "can't|malformed|differs|damaged"),
    ],
)
def test_a_journal_that_is_not_whole_is_refused_and_left_as_it_is(
    tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "j.db"
    with RecordingWorld(path, Service()) as world:
        for number in range(200):
            world.call(TOOL, {"query": f"town {number}"})
    damage(path)
    before = path.read_bytes()
    with pytest.raises(WorldError, match=said) as caught:
        seal(path, tmp_path / "w.db", SCHEMAS)
    assert "j.db" in str(caught.value) and path.read_bytes() == before and not (tmp_path / "w.db").exists()


def test_an_empty_file_is_the_beginning_of_a_journal(tmp_path: Path) -> None:
    (tmp_path / "j.db").touch()
    with RecordingWorld(tmp_path / "j.db", Service()) as world:
        assert world.call(TOOL, {"query": "Oslo"}).status is ResultStatus.OK


def _rival(path: str, number: int) -> None:
    write(Path(path), 40 + number)


@pytest.mark.slow
def test_rival_builds_leave_one_of_the_worlds_whole(tmp_path: Path) -> None:
    context = get_context("spawn")
    workers = [context.Process(target=_rival, args=(str(tmp_path / "w.db"), n)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    with CachedWorld.open(tmp_path / "w.db") as world:
        world.verify()
        assert 40 <= world.entry_count < 44
    assert [p.name for p in tmp_path.iterdir()] == ["w.db"]


ODD_IDS = (
    "../../x", "/etc/passwd", "..\\..\\x", "a\0b", "CON", "x" * 300, "x" * 100_000, "%2e%2e%2f", "$(touch canary)",
    "'; DROP TABLE entries; --", "\ud800", "file:///x", "~root", "*",
)  # fmt: skip


def test_ids_like_paths_are_values_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with RecordingWorld(Path("j.db"), Service()) as world:
        said = {name: world.call("Get_Hotel_Policies", {"hotel_id": name}).value for name in ODD_IDS}
        for name in ODD_IDS:
            assert world.call(name, {}).status is ResultStatus.UNKNOWN_TOOL
    seal(Path("j.db"), Path("w.db"), SCHEMAS)
    with CachedWorld.open(Path("w.db")) as sealed:
        sealed.verify()
        assert sealed.entry_count == len(ODD_IDS)
        assert {name: sealed.call("Get_Hotel_Policies", {"hotel_id": name}).value for name in ODD_IDS} == said
    assert {p.name.split("-")[0] for p in tmp_path.iterdir()} == {"j.db", "w.db"}
    assert not (tmp_path.parent / "x").exists() and not (tmp_path.parent.parent / "x").exists()


def test_a_world_named_like_a_uri_is_a_file_of_that_name(tmp_path: Path) -> None:
    path = tmp_path / "w?mode=rwc#x%20.db"
    write(path, 2)
    with CachedWorld.open(path) as world:
        assert world.call(TOOL, {"query": "town 1"}).status is ResultStatus.OK
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_person_is_shown_what_is_recorded_near_a_miss(seed_path: Path) -> None:
    with CachedWorld.open(seed_path) as world:
        arguments, _ = next(world.entries("Search_Hotels"))
        slip = arguments | {"departure_date": "2027-12-30"}
        assert world.call("Search_Hotels", slip).value == {"error": "No results found"}, "a model is shown nothing"
        near = nearest_calls(world, "Search_Hotels", canonical_key(SCHEMAS["Search_Hotels"], slip))
        assert len(near) == 3 and set(near) <= set(world.keys("Search_Hotels"))
        assert nearest_calls(world, "Search_Hotels", "zzz") == []
        assert sum(1 for tool in world.tools() for _ in world.keys(tool)) == world.entry_count


def test_a_simulator_behind_a_lost_journal_is_asked_again(tmp_path: Path) -> None:
    site = SeedWorld(2, SIZE)
    query = {"query": site.facts.places[0].city}
    with RecordingWorld(tmp_path / "j.db", site) as world:
        first = world.call("Search_Flight_Location", query)
    shutil.rmtree(tmp_path)
    with RecordingWorld(tmp_path / "j.db", site) as world:
        assert world.call("Search_Flight_Location", query) == first and world.counts["upstream"] == 1
