"""`python -m scripts.bench.preprocess [--rows N] [--out FOLDER]`: rows/s and memory of records → RL parquet.

Both sides convert the same file, each repeat in a process of its own, turn and turn about; then ours converts a file
ten times as long, whose memory says whether it grows with the rows.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from scripts.bench.preprocess.rows import write_rows
from scripts.bench.record import Measure, table, take, write

REPEATS = 5
LONGER = 10


def measure(subject: str, source: Path) -> dict[str, float]:
    """Return what one repeat took."""
    paths = [str(source), str(source.with_suffix(".parquet"))]
    command = [sys.executable, "-m", "scripts.bench.preprocess.side", subject, *paths]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(ended.stdout)


def main() -> None:
    """Run the bench, print its table and write its file."""
    flags = argparse.ArgumentParser(prog="python -m scripts.bench.preprocess")
    flags.add_argument("--rows", type=int, default=50_000, help="rows of the file both convert")
    flags.add_argument("--out", type=Path, default=Path("runs/bench"), help="folder of the result")
    given = flags.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source = write_rows(Path(folder, "rows.jsonl"), given.rows)
        longer = write_rows(Path(folder, "longer.jsonl"), given.rows * LONGER)
        for subject in ("ours", "plain"):
            measure(subject, source)  # warms the page cache; dropped
        taken: dict[str, list[dict[str, float]]] = {"ours": [], "plain": []}
        for _ in range(REPEATS):
            for subject, repeats in taken.items():
                repeats.append(measure(subject, source))
        taken[f"ours, {LONGER} times the rows"] = [measure("ours", longer)]
    measures = [Measure(s, "rows_per_s", tuple(r["rows"] / r["seconds"] for r in found)) for s, found in taken.items()]
    measures += [Measure(s, "grown_mib", tuple(r["grown_mib"] for r in found)) for s, found in taken.items()]
    run = take("preprocess", {"rows": given.rows, "repeats": REPEATS}, measures, ("pyarrow", "orjson", "pydantic"))
    print(table(run))
    print(f"\nours / plain, rows_per_s: {run.compare('rows_per_s', 'ours', 'plain'):.2f}")
    print(write(run, given.out))


if __name__ == "__main__":
    main()
