"""Our side: index a file, serve it, and ask for pages as a browser would."""
from __future__ import annotations

import json
import sys
import threading
import urllib.request
from pathlib import Path

from evaluation.viewer.server import LOOPBACK, Site, open_server
from scripts.bench.view.clock import Clock, peak_mib

PAGES = {
    "filter": "/?outcome=failure&tool=Search_Hotels&stop=answer",
    "search": "/?q=no+such+words+anywhere",
    "part": "/?part=R_form&high=0.5&order=low",
    "episode": "/t/1-777",
}


def main(path: Path) -> dict[str, float]:
    """Return the figures of one run."""
    clock = Clock()
    site = Site(path)
    found: dict[str, float] = {}
    with open_server(site) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        address = f"http://{LOOPBACK}:{server.server_address[1]}"
        _get(address + "/")
        found |= clock.read("open")
        for name, target in PAGES.items():
            clock = Clock()
            _get(address + target)
            found |= clock.read(name)
        server.shutdown()
        thread.join()
    return {**found, "memory_mib": peak_mib()}


def _get(address: str) -> None:
    with urllib.request.urlopen(address) as answer:
        answer.read()


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1])), sys.stdout)
