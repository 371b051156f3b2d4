"""The bench of the world counts what happened: whole episodes as whole, refusals as refusals, a lost answer as lost."""
from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from environment.booking.seed_world import WorldSize
from environment.cache.build import build_seed_cache
from scripts.bench.world import steps
from scripts.bench.world.calls import recorded_calls, turn_text
from scripts.bench.world.load import Plan, Tally, run, summary
from scripts.bench.world.serving import load, serve, write_calls

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bench") / "world.db"
    build_seed_cache(path, 1, WorldSize(cities=3, hotels=2, attractions=1, cars=1, destinations=1, dates=1))
    return path


def test_calls_are_drawn_from_what_is_recorded_each_once(world: Path) -> None:
    found = recorded_calls(world, 40)
    assert len({json.dumps(call) for call in found}) == len(found) == 40
    assert found == recorded_calls(world, 40) != recorded_calls(world, 40, seed=1)
    mixes = steps.mixes(world, 64)
    assert len(mixes["hot"]) == 64 and len(mixes["cold"]) == len({json.dumps(c) for c in mixes["cold"]})
    assert all(mixes["groups"].count(call) == steps.GROUP for call in mixes["groups"])


def test_rates_are_of_calls_that_were_answered(world: Path) -> None:
    found = {(m.subject, m.metric): m.samples for m in steps.measure(world, 400, 1)}
    assert {metric for subject, metric in found if subject == "ours"} == {
        f"{mix}_{kind}_per_s" for mix in ("hot", "groups", "cold") for kind in ("hit", "hit_decoded", "session_step")
    }
    assert all(rate > 0 for samples in found.values() for rate in samples)


@pytest.mark.slow
def test_a_crowd_is_told_to_come_back_and_every_episode_is_whole(world: Path, tmp_path: Path) -> None:
    file = write_calls(tmp_path / "calls.jsonl", recorded_calls(world, 30))
    with serve(world, "--capacity", "4") as (port, _):
        found = load(port, file, "crowd", clients=16, turns=3)
        assert (found["whole"], found["broken"]) == (16, 0)
        assert found["counts"]["step"] == 48 and found["statuses"]["open 201"] == 16
        for mode, each in (("episodes", 1), ("calls", 1), ("batches", 1)):
            brief = load(port, file, mode, clients=2, seconds=0.2, turns=2)
            assert brief["broken"] == 0 and brief["counts"]["step"] >= 2 * each
            assert 0 < brief["latency_ms"]["step"]["p50"] <= brief["latency_ms"]["step"]["p99"]


async def _closing_after_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b'HTTP/1.1 201 Created\r\nContent-Length: 15\r\n\r\n{"session":"s"}')
    await writer.drain()
    await reader.read(10)
    writer.close()


def _rows() -> Iterator[dict[str, object]]:
    yield {"name": "f", "arguments": {}, "text": turn_text(("f", {}))}


async def test_a_lost_connection_is_a_broken_episode() -> None:
    tally = Tally()
    async with await asyncio.start_server(_closing_after_one, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await run(port, Plan(list(_rows()), 2, tally), "crowd", 3, 1.0)
    found = summary(tally, 1.0)
    assert (found["whole"], found["broken"]) == (0, 3) and "connection lost at step" in found["first_broken"][0]
