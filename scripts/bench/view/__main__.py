"""`python -m scripts.bench.view [--out FOLDER] [--trajectories N]`: the viewer's index beside loading every trajectory.

Each repeat starts a fresh process a side: ours indexes the file, serves it and answers pages over HTTP; the plain side
reads every line with `json` and keeps the objects, as a viewer without an index would. `open_s` is from the start of
the work (imports apart) until the first page of the list is there. Memory is the peak of the process. Seconds are of
the wall and, since other work makes those long, of the processor.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.bench.record import Measure, table, take, write
from scripts.bench.view.rows import write_rollouts

SIDES = ("ours", "json in memory")


def main() -> None:
    """Write the file, measure both sides in turn, write the result and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    parser.add_argument("--trajectories", type=int, default=100_000)
    parser.add_argument("--hits", type=int, default=3, help="length of the lists in the replies")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = write_rollouts(Path(folder) / "rollouts.jsonl", given.trajectories, given.hits)
        samples = [{side: _measure(side, path) for side in SIDES} for _ in range(given.repeats)]
        size = path.stat().st_size
    settings: dict[str, object] = {
        "trajectories": given.trajectories, "hits": given.hits, "file_mb": round(size / 1e6),
    }  # fmt: skip
    measures = [
        Measure(side, metric, tuple(sample[side][metric] for sample in samples))
        for side in SIDES
        for metric in samples[0][side]
    ]
    run = take("view", settings, measures, ("orjson",))
    print(table(run))
    times, memory = (1 / run.compare(metric, *SIDES) for metric in ("open_cpu_s", "memory_mib"))
    print(f"opens {times:.1f} times as quickly as loading them all, in {memory:.1f} times less memory")
    print(write(run, given.out))


def _measure(side: str, path: Path) -> dict[str, float]:
    module = "scripts.bench.view.ours" if side == "ours" else "scripts.bench.view.plain"
    ended = subprocess.run([sys.executable, "-m", module, str(path)], capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


if __name__ == "__main__":
    main()
