"""`python -m scripts.bench.world [PART …]`: the figures of the world, ours beside what is compared with it.

Parts: seed, open, import, steps, http, crowd; all by default. The world of about 100 000 answers is built once a run
(part `seed` builds it twice and compares the hashes); --world takes one that is there. About ten minutes on two cores.
"""
from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from environment.cache.store import CachedWorld
from environment.cache.survey import export_json
from scripts.bench.record import Measure, table, take, write
from scripts.bench.world import calls, crowd, serving, steps

PARTS = ("seed", "open", "import", "steps", "http", "crowd")
PACKAGES = ("fastapi", "uvicorn", "uvloop", "httptools", "orjson", "pydantic", "fastjsonschema")
BOUNDED = ("stepping", "abandoning")
LONG_ROWS = 12_000
"""Rows of the longer file that is imported, about 100 MB."""


def seed(path: Path, repeats: int) -> Iterator[Measure]:
    """Build the world twice or more; the hashes must agree."""
    again = [calls.build(path.with_name(f"again{n}.db")) for n in range(max(2, repeats))]
    assert len({built.content_hash for built in again}) == 1, again
    yield Measure("ours", "seed_entries", (float(again[0].entries),))
    yield Measure("ours", "seed_build_s", tuple(built.seconds for built in again))
    for built in again:
        built.path.unlink()


def opened(path: Path, repeats: int) -> Iterator[Measure]:
    """Open the world in fresh processes, and its JSON file for comparison; run long to see memory grow."""
    rows: dict[tuple[str, str], list[float]] = {}
    for number in range(repeats):
        kinds = [("ours", "opening"), ("json_file", "parsing")]
        kinds += [("ours", kind) for kind in BOUNDED] if number == 0 else []
        for subject, kind in kinds:
            for metric, value in _child("scripts.bench.world.memory", kind, str(path)).items():
                name = f"{kind}_{metric}" if kind in BOUNDED else metric
                rows.setdefault((subject, name), []).append(value)
    yield from (Measure(subject, metric, tuple(found)) for (subject, metric), found in rows.items())


def imported(path: Path, repeats: int) -> Iterator[Measure]:
    """Import the exported world, and files of answers as long as a travel service's, one four times the other."""
    whole, part = path.with_name("long.json"), path.with_name("long_quarter.json")
    write_long(path.with_name("world.json"), whole, LONG_ROWS)
    write_long(path.with_name("world.json"), part, LONG_ROWS // 4)
    kinds = {"import_short": path.with_name("world.json"), "import_8kb": whole, "import_8kb_quarter": part}
    rows: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, source in kinds.items():
            for metric, value in _child("scripts.bench.world.importing", str(source), f"{source}.db").items():
                rows.setdefault(f"{name}_{metric}", []).append(value)
    yield from (Measure("ours", metric, tuple(found)) for metric, found in rows.items())


def write_long(source: Path, out: Path, rows: int) -> None:
    """Write so many calls in the reference's layout, each with an answer of about 8 kB made of recorded ones."""
    tool, found = max(json.loads(source.read_bytes()).items(), key=lambda each: len(each[1]))
    size = len(json.dumps([row["response"] for row in found[:100]])) // 100
    each = max(1, 8000 // size)
    with out.open("w", encoding="utf-8") as file:
        for number in range(rows):
            data = [found[(number * 7 + k) % len(found)]["response"] for k in range(each)]
            row = {"arguments": {"number": number}, "response": {"status": True, "message": "Success", "data": data}}
            file.write(("{" + json.dumps(tool) + ": [" if number == 0 else ",\n ") + json.dumps(row))
        file.write("]}")


def _child(module: str, *arguments: str) -> dict[str, float]:
    command = [sys.executable, "-m", module, *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measures(parts: list[str], path: Path, repeats: int, seconds: float) -> Iterator[Measure]:
    """Yield the measures of the parts that are wanted."""
    if "seed" in parts:
        yield from seed(path, repeats)
    if "open" in parts:
        yield from opened(path, repeats)
    if "import" in parts:
        yield from imported(path, repeats)
    if "steps" in parts:
        yield from steps.measure(path, 50_000, repeats)
    if "http" in parts:
        yield from serving.measure(path, path.parent, seconds, repeats)
    if "crowd" in parts:
        yield from crowd.measure(path, path.parent, repeats)


def _prepare(given: Path | None, folder: Path) -> Path:
    """Put the world, its JSON file and a first call into a folder; return the world."""
    path = folder / "world.db"
    if given is None:
        print(calls.build(path))
    else:
        shutil.copyfile(given, path)
    with CachedWorld.open(path) as world:
        export_json(world, folder / "world.json")
    (folder / "first.json").write_text(json.dumps(calls.recorded_calls(path, 1)[0]), encoding="utf-8")
    return path


def main() -> None:
    """Run the bench and leave its record."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.world", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--world", type=Path, help="a recorded world to measure; built where it is not given")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each HTTP load")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"))
    given = parser.parse_args()
    parts: list[str] = given.parts or [*PARTS]
    if unknown := set(parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    with tempfile.TemporaryDirectory(prefix="trl-world-") as folder:
        path = _prepare(given.world, Path(folder))
        found = list(measures(parts, path, given.repeats, given.seconds))
    settings: dict[str, object] = {
        "parts": ",".join(parts), "http_clients": serving.CLIENTS, "http_turns": serving.TURNS,
        "http_distinct_calls": serving.DISTINCT, "crowd": crowd.SESSIONS, "crowd_turns": crowd.TURNS,
    }  # fmt: skip
    result = take("world", settings, found, PACKAGES)
    print(table(result))
    print(write(result, given.out))


if __name__ == "__main__":
    main()
