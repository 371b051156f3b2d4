"""The world over HTTP, server and clients on the same cores; what is compared with it stands beside it.

    ours           `tool-rl serve`, one process
    fastapi        the same routes without `Front`: what FastAPI alone makes of them
    bare           uvicorn with an application that sends 2 kB at once: the ceiling of such a server
    per_process    a process a request, which opens the world, answers and ends, two at a time
"""
from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson

from scripts.bench.record import Measure
from scripts.bench.world.calls import Call, recorded_calls, turn_text
from scripts.bench.world.load import BATCH

CLIENTS, TURNS, DISTINCT = 64, 16, 1000
NAIVE_REQUESTS = 24

FASTAPI = """
import sys
from pathlib import Path
import uvicorn
from BFCL.parse.hermes import parse_turn
from environment.cache.store import CachedWorld
from environment.server.app import build_app
from environment.server.pool import SessionPool
app = build_app(SessionPool(CachedWorld.open(Path(sys.argv[1])), parse_turn)).app
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
BARE = """
import sys
import uvicorn
BODY = b"x" * 2048
HEAD = [(b"content-type", b"application/json"), (b"content-length", b"2048")]
async def app(scope, receive, send):
    if scope["type"] != "http":
        raise RuntimeError("no lifespan")
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": HEAD})
    await send({"type": "http.response.body", "body": BODY})
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False, lifespan="off")
"""
NAIVE = """
import sys, json
from pathlib import Path
from environment.cache.store import CachedWorld
found = CachedWorld.open(Path(sys.argv[1])).call(sys.argv[2], json.loads(sys.argv[3]))
print(json.dumps({"status": found.status, "value": found.value}))
"""


def write_calls(path: Path, calls: list[Call]) -> Path:
    """Write calls for the clients."""
    rows = ({"name": call[0], "arguments": call[1], "text": turn_text(call)} for call in calls)
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


@contextlib.contextmanager
def serve(world: Path, *more: str) -> Generator[tuple[int, int], None, None]:
    """Run `tool-rl serve`; yield its port and process id."""
    command = [sys.executable, "-m", "scripts.cli", "serve", str(world), "--port", "0", *more]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        yield int(line.split("http://", 1)[1].split()[0].rsplit(":", 1)[1]), process.pid
    finally:
        process.terminate()
        process.wait(30)


@contextlib.contextmanager
def _script(text: str, world: Path, port: int) -> Generator[int, None, None]:
    process = subprocess.Popen([sys.executable, "-c", text, str(world), str(port)])
    try:
        _wait_for(port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int) -> None:
    import socket

    until = time.monotonic() + 30
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.05)
    raise TimeoutError(f"nothing listens on {port}")


def load(port: int, calls: Path, mode: str, **options: object) -> dict[str, Any]:
    """Run the clients and return what they print."""
    command = [sys.executable, "-m", "scripts.bench.world.load", str(port), str(calls), mode]
    command += [f"--{name}={value}" for name, value in options.items()]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout)


def measure(world: Path, folder: Path, seconds: float, repeats: int) -> Iterator[Measure]:
    """Yield steps a second and latencies of all subjects, alternating between them."""
    calls = recorded_calls(world, DISTINCT, seed=5)
    file = write_calls(folder / "calls.jsonl", calls)
    runs: dict[tuple[str, str], list[float]] = {}

    def note(subject: str, mode: str, found: dict[str, Any], each: int = 1) -> None:
        assert not found["broken"], found
        rate = each * found["counts"]["step"] / found["seconds"]
        runs.setdefault((subject, f"{mode}_steps_per_s"), []).append(rate)
        for name, value in found["latency_ms"]["step"].items():
            runs.setdefault((subject, f"{mode}_{name}_ms"), []).append(value)

    options: dict[str, object] = {"clients": CLIENTS, "seconds": seconds, "turns": TURNS}
    for number in range(repeats):
        with serve(world, "--capacity", "4096") as (port, _):
            load(port, file, "calls", clients=CLIENTS, seconds=1)  # warms up
            for mode in ("episodes", "calls"):
                note("ours", mode, load(port, file, mode, **options))
            note("ours", "batches", load(port, file, "batches", **{**options, "clients": 4}), BATCH)
        with _script(FASTAPI, world, 8460 + number) as port:
            note("fastapi", "episodes", load(port, file, "episodes", **options))
        with _script(BARE, world, 8480 + number) as port:
            note("bare", "calls", load(port, file, "calls", **options))
        runs.setdefault(("per_process", "calls_steps_per_s"), []).append(_naive(world, calls))
    yield from (Measure(subject, metric, tuple(found)) for (subject, metric), found in runs.items())


def _naive(world: Path, calls: list[Call]) -> float:
    def answer(call: Call) -> None:
        command = [sys.executable, "-c", NAIVE, str(world), call[0], json.dumps(call[1])]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    began = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(answer, calls[:NAIVE_REQUESTS]))
    return NAIVE_REQUESTS / (time.perf_counter() - began)
