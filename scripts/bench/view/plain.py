"""The plain side: every trajectory as an object in memory, filtered and searched by walking through them."""
from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from scripts.bench.view.clock import Clock, peak_mib


def main(path: Path) -> dict[str, float]:
    """Return the figures of one run."""
    clock = Clock()
    with path.open(encoding="utf-8") as lines:
        rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    found = clock.read("open")
    clock = Clock()
    wrong = [row for row in rows if row["meta"]["reward"]["acc"] < 1 and row["stop"] == "answer"]
    kept = [row for row in wrong if any(call["name"] == "Search_Hotels" for call in row["calls"])]
    found |= clock.read("filter")
    clock = Clock()
    kept += [row for row in rows if "no such words anywhere" in json.dumps(row).lower()]
    found |= clock.read("search")
    return {**found, "memory_mib": peak_mib()}


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1])), sys.stdout)
