"""Many sessions at once, and four times more than there is room for."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scripts.bench.record import Measure
from scripts.bench.world.calls import recorded_calls
from scripts.bench.world.serving import load, serve, write_calls

SESSIONS, CAPACITY, TIMES, TURNS = 1024, 1024, 4, 5


def measure(world: Path, folder: Path, repeats: int) -> Iterator[Measure]:
    """Yield the share of whole episodes, the refusals and the latency of a step, both within and beyond capacity."""
    file = write_calls(folder / "crowd.jsonl", recorded_calls(world, 1000, seed=6))
    runs: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, clients in (("within", SESSIONS), ("beyond", TIMES * CAPACITY)):
            with serve(world, "--capacity", str(CAPACITY)) as (port, _pid):
                found = load(port, file, "crowd", clients=clients, turns=TURNS)
            runs.setdefault(f"{name}_whole_share", []).append(found["whole"] / clients)
            runs.setdefault(f"{name}_refused", []).append(found["statuses"].get("open 429", 0))
            runs.setdefault(f"{name}_lost", []).append(found["broken"])
            runs.setdefault(f"{name}_step_p99_ms", []).append(found["latency_ms"]["step"]["p99"])
            runs.setdefault(f"{name}_seconds", []).append(found["seconds"])
    yield from (Measure("ours", metric, tuple(values)) for metric, values in runs.items())
