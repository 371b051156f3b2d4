"""A world that grows: kept before it is given, asked once, safe for many writers and against a kill."""
from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from environment.booking.schemas import load_schemas
from environment.booking.seed_world import SeedWorld, WorldSize
from environment.cache.build import import_rows
from environment.cache.recording import RecordingWorld, seal
from environment.cache.sources import Recorded
from environment.cache.store import CachedWorld
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.errors import WorldError
from environment.core.schema import ToolSchema

TOOL = "Search_Hotel_Destination"
SIZE = WorldSize(cities=6, hotels=1, attractions=1, cars=1, destinations=1, dates=1)


class Service:
    """An upstream that counts and never says the same twice."""

    def __init__(self, *, fails: bool = False) -> None:
        self.schemas: Mapping[str, ToolSchema] = load_schemas()
        self.asked: list[str] = []
        self.fails = fails

    def call(self, name: str, arguments: Mapping[str, JsonValue]) -> WorldAnswer:
        self.asked.append(str(arguments.get("query")))
        if self.fails:
            raise ConnectionError("secret-token in a message")
        if arguments.get("query") == "nowhere":
            return WorldAnswer(ResultStatus.MISS, {"error": "none"})
        return WorldAnswer(ResultStatus.OK, {"n": len(self.asked), "by": os.getpid()})


def test_what_was_asked_once_is_not_asked_again_by_anyone(tmp_path: Path) -> None:
    first, second = Service(), Service()
    with RecordingWorld(tmp_path / "j.db", first) as world:
        answer = world.call(TOOL, {"query": "Oslo"})
        assert answer.status is ResultStatus.OK and world.call(TOOL, {"query": " OSLO "}) == answer
    with RecordingWorld(tmp_path / "j.db", second) as again:
        assert again.call(TOOL, {"query": "oslo"}) == answer
        assert again.counts == {"journal": 1}
    assert first.asked == ["Oslo"] and second.asked == []


def test_only_answers_are_kept_and_a_broken_service_is_one_without_its_words(tmp_path: Path) -> None:
    service = Service()
    with RecordingWorld(tmp_path / "j.db", service) as world:
        assert world.call(TOOL, {"query": "nowhere"}).status is ResultStatus.MISS
        assert world.call(TOOL, {}).status is ResultStatus.INVALID_ARGUMENTS
        assert world.call("Serch", {}).status is ResultStatus.UNKNOWN_TOOL
    assert service.asked == ["nowhere"], "a wrong call costs nothing upstream"
    with RecordingWorld(tmp_path / "k.db", Service(fails=True)) as world:
        failed = world.call(TOOL, {"query": "Oslo"})
        assert failed == WorldAnswer(ResultStatus.UPSTREAM_ERROR, {"error": "The service failed: ConnectionError"})
    healed = Service()
    with RecordingWorld(tmp_path / "k.db", healed) as world:
        assert world.call(TOOL, {"query": "Oslo"}).status is ResultStatus.OK and healed.asked == ["Oslo"]


def test_a_recorded_base_is_looked_up_first_and_sealed_with_the_rest(tmp_path: Path) -> None:
    base, out, service = tmp_path / "base.db", tmp_path / "out.db", Service()
    import_rows(base, [Recorded(TOOL, {"query": "Oslo"}, {"old": 1}, "before")])
    with RecordingWorld(tmp_path / "j.db", service, CachedWorld.open(base), "service v1") as world:
        assert world.call(TOOL, {"query": "Oslo"}).value == {"old": 1}
        world.call(TOOL, {"query": "Bergen"})
    report = seal(tmp_path / "j.db", out, load_schemas(), base)
    assert report.entries == 2 and service.asked == ["Bergen"]
    with CachedWorld.open(out) as sealed:
        sealed.verify()
        assert sealed.sources() == {"before": 1, "service v1": 1}
        assert sealed.call(TOOL, {"query": "Bergen"}).value["n"] == 1


def test_sealing_what_a_simulator_said_gives_its_very_answers(tmp_path: Path) -> None:
    site = SeedWorld(4, SIZE)
    cities = [place.city for place in site.facts.places]
    with RecordingWorld(tmp_path / "j.db", site) as world:
        said = {city: world.call(TOOL, {"query": city}) for city in cities}
    seal(tmp_path / "j.db", tmp_path / "w.db", site.schemas)
    with CachedWorld.open(tmp_path / "w.db") as sealed:
        assert {city: sealed.call(TOOL, {"query": city}) for city in cities} == said


def _record(journal: str, number: int, out: str) -> None:
    with RecordingWorld(Path(journal), Service(), provenance=f"writer {number}") as world:
        answers = {city: world.call(TOOL, {"query": city}).value for city in map(str, range(40))}
    Path(out).write_text(json.dumps(answers), encoding="utf-8")


def test_many_writers_agree_on_every_answer(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    outs = [tmp_path / f"{n}.json" for n in range(4)]
    workers = [context.Process(target=_record, args=(str(tmp_path / "j.db"), n, str(o))) for n, o in enumerate(outs)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0] * 4
    given: list[dict[str, Any]] = [json.loads(out.read_text()) for out in outs]
    assert all(answers == given[0] for answers in given)


ENDLESS = """
import sys
from pathlib import Path
from environment.cache.recording import RecordingWorld
from environment.cache.tests.test_recording import Service, TOOL
world = RecordingWorld(Path(sys.argv[1]), Service())
n = 0
while True:
    world.call(TOOL, {"query": f"town {n}"})
    n += 1
    print(n, flush=True)
"""


def test_a_kill_loses_nothing_that_was_answered(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    process = subprocess.Popen([sys.executable, "-c", ENDLESS, str(journal)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    answered, deadline = 0, time.monotonic() + 60
    while answered < 30 and time.monotonic() < deadline:
        answered = int(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    service = Service()
    with RecordingWorld(journal, service) as world:
        assert all(world.call(TOOL, {"query": f"town {n}"}).value["n"] == n + 1 for n in range(answered))
    assert service.asked == []


def test_a_damaged_journal_is_named_row_by_row_and_not_sealed(tmp_path: Path) -> None:
    journal = tmp_path / "j.db"
    with RecordingWorld(journal, Service()) as world:
        world.call(TOOL, {"query": "Oslo"})
    with sqlite3.connect(journal) as db:
        db.execute("UPDATE entries SET status = 'upstream_error'")
    db.close()
    with RecordingWorld(journal, Service()) as world, pytest.raises(WorldError, match="differs from its digest"):
        world.call(TOOL, {"query": "Oslo"})
    with pytest.raises(WorldError, match="differs from its digest"):
        seal(journal, tmp_path / "w.db", load_schemas())
    assert not (tmp_path / "w.db").exists()


def test_a_journal_that_cannot_be_written_is_an_error_of_the_world(tmp_path: Path) -> None:
    with RecordingWorld(tmp_path / "j.db", Service()) as world:
        world.call(TOOL, {"query": "Oslo"})
        with sqlite3.connect(tmp_path / "j.db") as db:
            db.execute("DROP TABLE provenance")
        db.close()
        with pytest.raises(WorldError, match="can't keep an answer"):
            world.call(TOOL, {"query": "Bergen"})


def test_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA application_id = 7")
    before = other.read_bytes()
    with pytest.raises(WorldError, match="not a journal"):
        RecordingWorld(other, Service())
    with pytest.raises(WorldError, match="can't open the journal"):
        RecordingWorld(tmp_path, Service())
    with pytest.raises(WorldError, match="no journal"):
        seal(tmp_path / "none.db", tmp_path / "out.db", load_schemas())
    assert other.read_bytes() == before
