"""`python -m scripts.bench.world.importing FILE OUT`: import a file of the reference's layout.

Prints seconds, bytes and the most memory the process held; run on a file and on its quarter, the latter tells whether
memory grows with the file.
"""
from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main() -> None:
    """Import and print the figures."""
    from environment.cache.build import import_rows
    from environment.cache.sources import read_source

    source, out = Path(sys.argv[1]), Path(sys.argv[2])
    began = time.perf_counter()
    report = import_rows(out, read_source(source))
    seconds = time.perf_counter() - began
    status = Path("/proc/self/status").read_text(encoding="ascii")
    most = int(status.split("VmHWM:")[1].split()[0]) / 1024  # not `getrusage`, which counts the parent before exec
    size = source.stat().st_size
    figures = {"mb_per_s": size / seconds / 1e6, "rows_per_s": report.entries / seconds, "peak_mib": most}
    print(json.dumps({**figures, "mb": size / 1e6}))


if __name__ == "__main__":
    main()
