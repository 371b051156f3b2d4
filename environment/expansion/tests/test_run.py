"""Expanding worlds: what comes of it, that it repeats nothing, survives a kill, costs what was said and never more."""
from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from environment.booking.seed_world import SeedWorld, WorldSize
from environment.booking.tests.test_schemas import shared
from environment.cache.build import build_seed_cache
from environment.cache.store import CachedWorld
from environment.core.calls import ResultStatus
from environment.core.errors import ConfigError, DataError, WorldError
from environment.expansion.expander import ExpansionSizes
from environment.expansion.files import ExpansionFiles
from environment.expansion.run import dry_run, expand
from environment.expansion.settings import ExpandMode, ExpandSettings
from environment.upstream.kinds import UpstreamKind
from environment.upstream.modes import UpstreamSettings
from environment.upstream.tests.stub import Asked, page, reply, stub

SIZE = WorldSize(cities=8, hotels=2, attractions=2, cars=2, destinations=2, dates=2)
SEED = UpstreamSettings(UpstreamKind.SEED, 5, SIZE)
SITE = SeedWorld(5, SIZE)
LIVE = SeedWorld(5, replace(SIZE, cities=83))
"""What the paid service knows: every city that is asked for."""
SMALL = ExpansionSizes(first=6, dependent=2, branches=4)


def settings(path: Path, **changes: Any) -> ExpandSettings:
    return replace(ExpandSettings(path, sizes=SMALL, upstream=SEED, workers=4), **changes)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_every_tool_is_recorded_from_nothing_and_answers_as_the_site(tmp_path: Path) -> None:
    found = expand(settings(tmp_path / "w.db"))
    assert found.report is not None and found.stopped is None and found.spent == 0
    assert set(found.report.by_tool) == set(SITE.schemas)
    with CachedWorld.open(tmp_path / "w.db") as world:
        world.verify()
        assert world.sources() == {"seed-world seed=5": world.entry_count}
        for tool in world.tools():
            for arguments, value in world.entries(tool):
                assert SITE.call(tool, arguments).value == value
    assert names(tmp_path) == {"w.db", "w.db.lock", "w.db.expansion.json"}
    summary = json.loads((tmp_path / "w.db.expansion.json").read_text())
    assert summary["content_hash"] == found.report.content_hash and len(summary["workflows"]) == len(found.results)


def test_chains_reach_from_step_to_step(tmp_path: Path) -> None:
    found = expand(settings(tmp_path / "w.db", workflows=("Get_Seat_Map",)))
    (result,) = found.results
    assert result.ended is None and result.chains == result.answers[-1] > 0
    with CachedWorld.open(tmp_path / "w.db") as world:
        tokens = {o["token"] for _, v in world.entries("Search_Flights") for o in v["data"]["flightOffers"]}
        asked = [arguments["offerToken"] for arguments, _ in world.entries("Get_Seat_Map")]
        airports = {hit["id"] for _, v in world.entries("Search_Flight_Location") for hit in v["data"]}
        ends = {a[end] for a, _ in world.entries("Search_Flights") for end in ("fromId", "toId")}
    assert asked and set(asked) <= tokens and ends <= airports


@pytest.mark.parametrize(("workers", "workflow_workers"), [(1, 1), (8, 5)])
def test_the_number_of_workers_changes_nothing(tmp_path: Path, workers: int, workflow_workers: int) -> None:
    chosen = ("Search_Taxi", "Get_Room_List_With_Availability", "Vehicle_Details")
    one = expand(settings(tmp_path / "a.db", workflows=chosen))
    two = expand(settings(tmp_path / "b.db", workflows=chosen, workers=workers, workflow_workers=workflow_workers))
    assert one.report and two.report and one.report.content_hash == two.report.content_hash
    assert one.results == two.results


def test_the_same_again_asks_nothing_and_another_seed_asks_more(tmp_path: Path) -> None:
    first = expand(settings(tmp_path / "w.db", workflows=("Search_Hotels",)))
    again = expand(settings(tmp_path / "w.db", workflows=("Search_Hotels",)))
    assert again.report is None and "upstream" not in again.sources and again.results == first.results
    other = expand(settings(tmp_path / "w.db", workflows=("Search_Hotels",), seed=9))
    assert other.report and first.report and other.report.entries > first.report.entries


def test_a_world_that_is_there_grows_and_keeps_what_it_had(tmp_path: Path) -> None:
    before = build_seed_cache(tmp_path / "w.db", 5, SIZE)
    found = expand(settings(tmp_path / "w.db", mode=ExpandMode.INDEPENDENT, functions=("Search_Flights",)))
    assert found.report and found.report.entries > before.entries and found.report.conflicts == ()


def test_a_world_of_another_seed_is_refused_and_left_alone(tmp_path: Path) -> None:
    build_seed_cache(tmp_path / "w.db", 6, SIZE)
    content = (tmp_path / "w.db").read_bytes()
    with pytest.raises(ConfigError, match="another seed"):
        expand(settings(tmp_path / "w.db"))
    assert (tmp_path / "w.db").read_bytes() == content and not (tmp_path / "w.db.journal").exists()


@pytest.mark.slow
def test_the_templates_of_the_reference_are_walked(tmp_path: Path) -> None:
    chosen = settings(tmp_path / "w.db", templates=shared("workflow_templates.json"))
    found = expand(chosen)
    assert len(found.results) == 107
    whole = [result for result in found.results if result.ended is None]
    assert len(whole) >= 75, [(result.id, result.ended) for result in found.results if result.ended]


# What a paid service would see.


def travel_site(asked: Asked) -> bytes:
    """Answer as the seed world does, over HTTP."""
    from environment.upstream.endpoints import read_service

    tool = next(tool for tool, e in read_service().endpoints.items() if e.path == asked.path)
    given = {name: value for name, value in asked.query.items() if name in LIVE.schemas[tool].properties}
    answer = LIVE.call(tool, given)
    if answer.status is not ResultStatus.OK:
        return reply({"status": False, "message": "nothing found"})
    return reply({"status": True, "message": "Success", "timestamp": time.time(), **answer.value})


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RAPID_API_KEY", "k3y-that-no-text-may-hold")
    return "k3y-that-no-text-may-hold"


def live(url: str, path: Path, **changes: Any) -> ExpandSettings:
    upstream = UpstreamSettings(UpstreamKind.RAPIDAPI, address=url, per_second=0, timeout_s=5, **changes.pop("up", {}))
    chosen: dict[str, Any] = {"workflows": ("Get_Seat_Map",), "first_date": date(2026, 3, 1), **changes}
    return settings(path, upstream=upstream, **chosen)


def calls_of(asked: list[Asked]) -> list[str]:
    return [f"{one.path} {sorted(one.query.items())}" for one in asked]


@pytest.mark.usefixtures("key")
def test_a_live_service_is_recorded_and_no_request_is_sent_twice(tmp_path: Path) -> None:
    with stub(travel_site) as service:
        found = expand(live(service.url, tmp_path / "w.db"))
        sent = calls_of(service.asked)
        assert found.spent == len(sent) == len(set(sent)) > 10
        expand(live(service.url, tmp_path / "w.db"))
        assert len(service.asked) == len(sent)
    with CachedWorld.open(tmp_path / "w.db") as world:
        assert world.sources() == {"booking-com15": world.entry_count}
        assert {"Search_Flight_Location", "Search_Flights", "Get_Seat_Map"} == set(world.tools())


@pytest.mark.usefixtures("key")
def test_the_budget_holds_over_all_starts_and_a_larger_one_goes_on(tmp_path: Path) -> None:
    with stub(travel_site) as service:
        for _ in range(3):
            found = expand(live(service.url, tmp_path / "w.db", up={"max_requests": 7}))
            assert found.stopped is not None and "budget of 7 requests" in found.stopped
            assert len(service.asked) == 7
        assert CachedWorld.open(tmp_path / "w.db").entry_count == 7, "what was paid for is in the world"
        whole = expand(live(service.url, tmp_path / "w.db", up={"max_requests": 500}))
        assert whole.stopped is None and len(set(calls_of(service.asked))) == len(service.asked) > 7
    with stub(travel_site) as other:
        straight = expand(live(other.url, tmp_path / "o.db"))
    assert whole.report and straight.report and whole.report.content_hash == straight.report.content_hash
    assert whole.results == straight.results


@pytest.mark.usefixtures("key")
def test_a_refused_key_ends_it_after_one_request_a_worker(tmp_path: Path) -> None:
    with stub(lambda _: reply({"message": "Invalid API key"}, 401)) as service:
        found = expand(live(service.url, tmp_path / "w.db"))
        assert len(service.asked) <= 4
    assert found.stopped is not None and "refuses the key" in found.stopped and found.report is None
    assert not (tmp_path / "w.db").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("key")
def test_a_service_that_fails_now_and_then_gives_the_same_world(tmp_path: Path) -> None:
    def moody(asked: Asked) -> bytes:
        return page(503) if asked.number % 3 == 0 else travel_site(asked)

    with stub(moody) as bad, stub(travel_site) as good:
        one = expand(live(bad.url, tmp_path / "a.db", workflows=("Search_Taxi",)))
        two = expand(live(good.url, tmp_path / "b.db", workflows=("Search_Taxi",)))
    assert one.report and two.report and one.report.content_hash == two.report.content_hash
    assert one.spent > two.spent


@pytest.mark.usefixtures("key")
def test_wrong_bodies_are_in_no_world(tmp_path: Path) -> None:
    def wrong(asked: Asked) -> bytes:
        if asked.path.endswith("searchFlights"):
            return [page(), reply({"status": True, "data": {"hotels": []}}), reply(b"{")][asked.number % 3]
        return travel_site(asked)

    with stub(wrong) as service:
        found = expand(live(service.url, tmp_path / "w.db", up={"tries": 1}))
    assert found.results[0].ended == "step 2 Search_Flights: no usable answer"
    assert found.sources["failed"] > 0 and "Search_Flights" not in CachedWorld.open(tmp_path / "w.db").tools()


@pytest.mark.usefixtures("key")
def test_a_dry_run_asks_nothing_and_its_bound_holds(tmp_path: Path) -> None:
    with stub(travel_site) as service:
        chosen = live(service.url, tmp_path / "w.db")
        before = dry_run(chosen)
        assert service.asked == [] and names(tmp_path) == set()
        expand(replace(chosen, upstream=replace(chosen.upstream, max_requests=5)))
        midway = dry_run(chosen)
        found = expand(chosen)
        assert before.certain <= found.spent <= before.most and before.recorded == 0
        assert found.spent - 5 <= midway.most < before.most and midway.recorded == 5
        after = dry_run(chosen)
        assert (after.certain, after.most, after.recorded) == (0, 0, found.spent)


KILLED = """
import sys
from pathlib import Path
from environment.expansion.run import expand
from environment.expansion.tests.test_run import live
expand(live(sys.argv[1], Path(sys.argv[2]), workers=2))
"""


@pytest.mark.slow
@pytest.mark.usefixtures("key")
@pytest.mark.parametrize("after", [1, 4, 11])
def test_a_kill_at_any_moment_loses_and_repeats_nothing(tmp_path: Path, after: int) -> None:
    reached = threading.Event()

    def slow(asked: Asked) -> bytes:
        if asked.number > after:
            reached.set()
        time.sleep(0.02)
        return travel_site(asked)

    with stub(slow) as service:
        command = [sys.executable, "-c", KILLED, service.url, str(tmp_path / "w.db")]
        process = subprocess.Popen(command)
        try:
            assert reached.wait(60)
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        time.sleep(0.1)
        under_way = 2  # one a worker: sent, perhaps not answered
        killed = len(service.asked)
        assert killed <= ExpansionFiles(tmp_path / "w.db").spent() <= killed + under_way, "noted before it is sent"
        found = expand(live(service.url, tmp_path / "w.db"))
        sent = calls_of(service.asked)
    assert found.stopped is None and len(sent) - len(set(sent)) <= under_way
    with stub(travel_site) as other:
        straight = expand(live(other.url, tmp_path / "o.db"))
    assert found.report and straight.report and found.report.content_hash == straight.report.content_hash


@pytest.mark.usefixtures("key")
@pytest.mark.timeout(60)
def test_a_halt_keeps_what_was_answered_and_the_same_settings_go_on(tmp_path: Path) -> None:
    halt = threading.Event()

    def halting(asked: Asked) -> bytes:
        if asked.number == 6:
            halt.set()
            time.sleep(0.3)
        return travel_site(asked)

    with stub(halting) as service:
        found = expand(live(service.url, tmp_path / "w.db", workers=1, workflow_workers=1), halt=halt)
        assert found.stopped == "stopped on request" and found.report is None and len(service.asked) < 10
        assert (tmp_path / "w.db.journal").exists() and not (tmp_path / "w.db").exists()
        whole = expand(live(service.url, tmp_path / "w.db"))
    assert whole.stopped is None and len(set(calls_of(service.asked))) == len(service.asked)


def test_two_expansions_of_one_world_are_not_at_work_together(tmp_path: Path) -> None:
    with ExpansionFiles(tmp_path / "w.db").locked(), pytest.raises(ConfigError, match="another expansion is at work"):
        expand(settings(tmp_path / "w.db"))


def test_the_first_date_is_that_of_the_start_until_it_is_done(tmp_path: Path) -> None:
    files = ExpansionFiles(tmp_path / "w.db")
    assert files.first_day(date(2026, 1, 1)) == date(2026, 1, 1)
    files.begin(date(2026, 2, 2))
    assert files.first_day(date(2026, 9, 9)) == date(2026, 2, 2)
    files.tidy(finished=False)
    assert files.first_day(date(2026, 9, 9)) == date(2026, 2, 2)
    files.tidy(finished=True)
    assert files.first_day(date(2026, 9, 9)) == date(2026, 9, 9)


def test_a_torn_note_is_no_note(tmp_path: Path) -> None:
    files = ExpansionFiles(tmp_path / "w.db")
    files.leave_unanswered("aa")
    files.leave_unanswered("bb")
    with (tmp_path / "w.db.unanswered").open("ab") as file:
        file.write(b"cc")
    assert files.unanswered() == {"aa", "bb"}


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"workers": 0}, ConfigError, "--max-workers"),
        ({"workflow_workers": 0}, ConfigError, "--workflow-workers"),
        ({"sizes": ExpansionSizes(0)}, ConfigError, "--batch-size-step0"),
        ({"sizes": ExpansionSizes(branches=-1)}, ConfigError, "--max-branches-per-step"),
        ({"world": Path("cache.json")}, ConfigError, "tool-rl world import cache.db cache.json"),
        ({"functions": ("Search_Hotel",), "mode": ExpandMode.INDEPENDENT}, DataError, "Search_Hotels"),
        ({"workflows": ("Search_Hotel",)}, DataError, "no such workflow"),
        ({"excluded": ("x",)}, DataError, "no such workflow"),
    ],
)
def test_wrong_settings_are_refused_before_anything_is_written(
    tmp_path: Path, change: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        expand(settings(tmp_path / "w.db", **change))
    assert names(tmp_path) == set()


def _read_only(folder: Path) -> None:
    folder.chmod(0o500)


def _file_for_folder(folder: Path) -> None:
    folder.rmdir()
    folder.write_text("")


@pytest.mark.parametrize("spoil", [_read_only, _file_for_folder])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    spoil(folder)
    if spoil is _read_only and os.access(folder, os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(WorldError, match="can't expand the world") as caught:
        expand(settings(folder / "w.db"))
    assert str(folder) in str(caught.value)


def test_a_damaged_world_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "w.db").write_bytes(b"no world")
    with pytest.raises(WorldError, match="not a recorded world"):
        expand(settings(tmp_path / "w.db"))
    assert (tmp_path / "w.db").read_bytes() == b"no world"
