"""`python -m scripts.bench.world.memory opening|stepping|abandoning|parsing WORLD`: one figure of time and memory.

A process each, so that one measure's memory is not another's. Prints one JSON object.

    opening      seconds to open the world and have the first answer; what the process takes then
    stepping     what it takes after the first tenth and at the end of a million calls, cold and hot in turn
    abandoning   the same for ten thousand sessions of which none is closed (TTL 60 s, the clock is turned)
    parsing      the peer of opening: the same answers as one JSON file, read whole
"""
from __future__ import annotations

import gc
import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import orjson

MIB = 1 << 20
STEPS, SESSIONS, TURNS = 1_000_000, 10_000, 3


def resident_mib() -> float:
    """Return what this process holds in memory now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / MIB


def opening(path: Path) -> dict[str, float]:
    """Measure opening a world and its first answer."""
    from environment.booking.schemas import load_schemas
    from environment.cache.store import CachedWorld

    call = json.loads((path.parent / "first.json").read_text(encoding="utf-8"))
    schemas = load_schemas()
    began = time.perf_counter()
    world = CachedWorld.open(path, schemas)
    answer = world.call(*call)
    seconds = time.perf_counter() - began
    assert answer.status == "ok"
    return {"open_and_answer_ms": 1000 * seconds, "resident_mib": resident_mib()}


def stepping(path: Path) -> dict[str, float]:
    """Measure memory over `STEPS` calls."""
    from environment.cache.store import CachedWorld
    from scripts.bench.world.calls import recorded_calls

    calls = [(name, json.dumps(arguments)) for name, arguments in recorded_calls(path, 20_000, seed=9)]
    gc.collect()
    world = CachedWorld.open(path)
    chance, early = random.Random(2), 0.0
    before = resident_mib()
    for number in range(STEPS):
        name, arguments = calls[chance.randrange(20_000)]
        assert world.call(name, orjson.loads(arguments)).status == "ok"
        if number == STEPS // 10:
            early = resident_mib()
    return {"before_mib": before, "after_tenth_mib": early, "after_all_mib": resident_mib()}


def abandoning(path: Path) -> dict[str, float]:
    """Measure memory over `SESSIONS` sessions that nobody closes."""
    from BFCL.parse.hermes import parse_turn
    from environment.cache.store import CachedWorld
    from environment.core.task import Task
    from environment.server.pool import SessionPool
    from environment.server.wire import OpenRequest, StepRequest
    from scripts.bench.world.calls import recorded_calls, turn_text

    calls = recorded_calls(path, 2_000, seed=9)
    world = CachedWorld.open(path)
    now = [0.0]
    pool = SessionPool(world, parse_turn, ttl_s=60.0, capacity=1024, clock=lambda: now[0])
    task = Task("bench", "?", tuple(world.schemas), ()).to_json()
    early = most = 0.0
    for number in range(SESSIONS):
        now[0] += 0.1
        name = pool.open(OpenRequest(task=task))["session"]
        for turn in range(TURNS):
            pool.step(name, StepRequest(number=turn, text=turn_text(calls[(number * TURNS + turn) % len(calls)])))
        most = max(most, pool.open_count)
        if number == SESSIONS // 10:
            early = resident_mib()
    return {"after_tenth_mib": early, "after_all_mib": resident_mib(), "most_open": most}


def parsing(path: Path) -> dict[str, float]:
    """Measure reading the same answers from one JSON file."""
    name, arguments = json.loads((path.parent / "first.json").read_text(encoding="utf-8"))
    began = time.perf_counter()
    table: dict[str, Any] = json.loads((path.parent / "world.json").read_bytes())
    found = next(row["response"] for row in table[name] if row["arguments"] == arguments)
    assert found
    return {"open_and_answer_ms": 1000 * (time.perf_counter() - began), "resident_mib": resident_mib()}


def main() -> None:
    """Print the figures that the command line names."""
    kinds = {"opening": opening, "stepping": stepping, "abandoning": abandoning, "parsing": parsing}
    json.dump(kinds[sys.argv[1]](Path(sys.argv[2])), sys.stdout)


if __name__ == "__main__":
    main()
