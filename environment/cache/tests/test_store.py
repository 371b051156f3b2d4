from __future__ import annotations

import json
import os
import pickle
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from shutil import copyfile

import pytest

from environment.booking.seed_world import SeedWorld
from environment.cache.plan import planned_calls
from environment.cache.store import CachedWorld
from environment.core.calls import ResultStatus
from environment.core.errors import WorldError

CALL = ("Search_Hotel_Destination", {"query": "nowhere at all"})


def test_the_recording_answers_as_the_world_it_was_taken_from(seed_path: Path, simulated: SeedWorld) -> None:
    with CachedWorld.open(seed_path) as world:
        for tool, arguments in planned_calls(simulated):
            assert world.call(tool, arguments) == simulated.call(tool, arguments)


def test_other_writings_of_a_call_hit_and_other_calls_miss(seed_path: Path, simulated: SeedWorld) -> None:
    world = CachedWorld.open(seed_path)
    place = simulated.facts.places[0]
    found = world.call("Search_Flight_Location", {"query": place.city})
    assert found.status is ResultStatus.OK
    assert world.call("Search_Flight_Location", {"query": f" {place.city.upper()} "}) == found
    assert world.call("Search_Flight_Location", {"query": place.city + "x"}).status is ResultStatus.MISS
    assert world.call("Search_Flight_Location", {}).status is ResultStatus.INVALID_ARGUMENTS
    assert world.call("Search_Flight", {"query": "x"}).status is ResultStatus.UNKNOWN_TOOL


def test_no_caller_can_alter_an_answer(seed_path: Path) -> None:
    world = CachedWorld.open(seed_path)
    arguments, value = next(world.entries("Search_Hotels"))
    world.call("Search_Hotels", arguments).value["data"]["hotels"].clear()
    assert world.call("Search_Hotels", arguments).value == value


def test_entries_are_those_that_calls_find_as_they_were_recorded(seed_path: Path, simulated: SeedWorld) -> None:
    world = CachedWorld.open(seed_path)
    planned = {(tool, repr(a)) for tool, a in planned_calls(simulated)}
    entries = [(tool, *entry) for tool in world.tools() for entry in world.entries(tool)]
    assert len(entries) == world.entry_count == len(planned) == sum(world.tools().values())
    assert {(tool, repr(arguments)) for tool, arguments, _ in entries} == planned
    for tool, arguments, value in entries[::50]:
        assert world.call(tool, arguments).value == value


def test_what_was_asked_before_is_answered_as_at_first(seed_path: Path, simulated: SeedWorld) -> None:
    """Also where it comes from memory, where memory is too small for anything, and in another writing."""
    plain, small = CachedWorld.open(seed_path), CachedWorld.open(seed_path)
    small._recent.capacity = 0  # pyright: ignore[reportPrivateUsage]
    city = simulated.facts.places[0].city
    ask: list[dict[str, object]] = [{"query": city, "more": more} for more in (None, float("nan"), 1)]
    for arguments in ({"query": city}, *ask, {"query": 5}):
        for world in (plain, small):
            want = simulated.call("Search_Flight_Location", arguments)
            assert [world.call("Search_Flight_Location", arguments) for _ in range(3)] == [want] * 3
            known = world.call_text("Search_Flight_Location", arguments)
            assert (known.status, json.loads(known.text)) == (want.status, want.value)


def test_memory_is_bounded(seed_path: Path) -> None:
    world = CachedWorld.open(seed_path)
    memory = world._recent  # pyright: ignore[reportPrivateUsage]
    memory.capacity = 20_000
    for arguments, value in world.entries("Search_Hotels"):
        assert world.call("Search_Hotels", arguments).value == value
    kept = [memory.get(key) for key in (*memory._young, *memory._old)]  # pyright: ignore[reportPrivateUsage]
    assert 0 < sum(len(answer.text) for answer in kept if answer) <= 20_000
    long = {"query": "x" * 10_000}
    assert world.call("Search_Flight_Location", long).status is ResultStatus.MISS


def test_a_world_travels_by_path(seed_path: Path) -> None:
    world = CachedWorld.open(seed_path)
    world.call(*CALL)
    sent = pickle.dumps(world)
    again = pickle.loads(sent)
    assert again.content_hash == world.content_hash
    assert list(again.schemas) == list(world.schemas)
    assert again.call(*CALL) == world.call(*CALL)


def _hotels(world: CachedWorld) -> int:
    return sum(len(value["data"]["hotels"]) for _, value in world.entries("Search_Hotels"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_several_processes_read_at_once(seed_path: Path, method: str) -> None:
    world = CachedWorld.open(seed_path)
    want = _hotels(world)
    with ProcessPoolExecutor(2, mp_context=get_context(method)) as pool:
        assert list(pool.map(_hotels, [world, world])) == [want, want]


def test_a_forked_child_reads_with_its_own_connection(seed_path: Path) -> None:
    world = CachedWorld.open(seed_path)
    want = _hotels(world)
    child = os.fork()
    if child == 0:
        os._exit(0 if _hotels(world) == want else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert _hotels(world) == want


def test_threads_read_at_once(seed_path: Path) -> None:
    world = CachedWorld.open(seed_path)
    want = _hotels(world)
    seen: list[int] = []
    threads = [threading.Thread(target=lambda: seen.append(_hotels(world))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [want] * 4


def test_a_closed_world_opens_again(seed_path: Path) -> None:
    world = CachedWorld.open(seed_path)
    world.close()
    assert world.call(*CALL).status is ResultStatus.MISS


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("not a database at all, but long enough to be one")


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def _sql(*statements: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    return run


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (Path.unlink, "no recorded world"),
        (_empty, "not a recorded world"),
        (_text, "not a recorded world"),
        (_cut, "can't read|differs|damaged"),
        (_sql("PRAGMA application_id = 1"), "not a recorded world"),
        (_sql("PRAGMA user_version = 99"), "another format"),
        (_sql("DELETE FROM entries"), "empty or unfinished"),
        (_sql("DELETE FROM meta"), "empty or unfinished"),
        (_sql("DROP TABLE entries"), "can't read"),
        (_sql("UPDATE entries SET value = x'00' WHERE tool = 'Search_Hotels'"), "damaged entry"),
        (_sql("UPDATE entries SET status = 'upstream_error'"), "differs from its digest"),
        (_sql("DELETE FROM entries WHERE tool = 'Search_Hotels'"), "content differs"),
    ],
)
def test_a_world_that_is_not_whole_is_refused(
    seed_path: Path, tmp_path: Path, damage: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "world.db"
    copyfile(seed_path, path)
    damage(path)
    with pytest.raises(WorldError, match=said) as caught:
        CachedWorld.open(path).verify()
    assert "world.db" in str(caught.value) and "fix" in str(caught.value)


def test_a_damaged_row_never_becomes_an_answer(seed_path: Path, tmp_path: Path) -> None:
    path = tmp_path / "world.db"
    copyfile(seed_path, path)
    arguments, _ = next(CachedWorld.open(seed_path).entries("Search_Hotels"))
    _sql("UPDATE entries SET value = (SELECT value FROM entries WHERE tool = 'Search_Taxi')")(path)
    world = CachedWorld.open(path)
    with pytest.raises(WorldError, match="differs from its digest"):
        world.call("Search_Hotels", arguments)
    with pytest.raises(WorldError, match="differs from its digest"):
        list(world.entries("Search_Hotels"))


def test_reading_leaves_the_file_alone(seed_path: Path) -> None:
    before = (seed_path.read_bytes(), sorted(p.name for p in seed_path.parent.iterdir()))
    world = CachedWorld.open(seed_path)
    world.verify()
    world.close()
    assert (seed_path.read_bytes(), sorted(p.name for p in seed_path.parent.iterdir())) == before
