"""`python -m scripts.bench.world.load PORT CALLS MODE …`: the clients of the HTTP benches, in a process of their own.

A client is one kept-alive connection that sends its next request once it has the whole answer to the last. It is made
of asyncio's protocols, for a client library would take more of the two cores than the server it is to measure.
Prints one JSON object: counts, seconds, and latencies in milliseconds from writing a request to having read its answer.

    episodes   open, TURNS steps, close, again, until the time is up
    calls      /v1/call, until the time is up
    batches    sixteen episodes a client, all their steps in one request
    crowd      every client plays one episode; told 429, it comes back; the trajectory must hold every call
"""
from __future__ import annotations

import argparse
import asyncio
import functools
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

BATCH = 16
Ask = tuple[str, str, str, bytes]
"""Kind of a request as it is counted, method, path, body; kind `wait` has the milliseconds in its path."""
Answer = tuple[int, bytes]
Script = Generator[Ask, Answer, None]


@dataclass
class Tally:
    """What came of all requests."""

    latency: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    statuses: Counter[str] = field(default_factory=Counter[str])
    whole: int = 0
    """Episodes whose trajectory held every call."""
    broken: list[str] = field(default_factory=list[str])


class Client(asyncio.Protocol):
    """Plays a script over one connection."""

    def __init__(self, script: Script, tally: Tally, done: asyncio.Future[None]) -> None:
        self._script, self._tally, self._done = script, tally, done
        self._buffer = bytearray()
        self._kind, self._sent, self._need = "", 0.0, -1
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def start(self) -> None:
        """Send the first request."""
        self._send(next(self._script))

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        if self._need < 0:
            end = buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            head = bytes(buffer[:end]).lower()
            at = head.index(b"content-length:") + 15
            stop = head.find(b"\r", at)
            self._need = end + 4 + int(head[at : stop if stop >= 0 else end])
            self._body_at = end + 4
        if len(buffer) < self._need:
            return
        status, body = int(buffer[9:12]), bytes(buffer[self._body_at :])
        buffer.clear()
        self._need = -1
        self._tally.latency.setdefault(self._kind, []).append(time.perf_counter() - self._sent)
        self._tally.statuses[f"{self._kind} {status}"] += 1
        try:
            self._send(self._script.send((status, body)))
        except StopIteration:
            self._finish()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._done.done():
            self._tally.broken.append(f"connection lost at {self._kind}: {exc}")
            self._finish()

    def _send(self, ask: Ask) -> None:
        kind, method, path, body = ask
        if kind == "wait":
            asyncio.get_running_loop().call_later(float(path) / 1000, self._go_on)
            return
        self._kind, self._sent = kind, time.perf_counter()
        head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        self._transport.write(b"%bContent-Length: %d\r\n\r\n%b" % (head.encode(), len(body), body))

    def _go_on(self) -> None:
        self._send(self._script.send((0, b"")))

    def _finish(self) -> None:
        if not self._done.done():
            self._done.set_result(None)
        self._transport.close()


class Plan:
    """What the clients ask for."""

    def __init__(self, rows: list[dict[str, Any]], turns: int, tally: Tally) -> None:
        self.turns, self.tally = turns, tally
        self.over: Callable[[], bool] = lambda: False
        self._texts = itertools.cycle([orjson.dumps(row["text"]) for row in rows])
        self._calls = itertools.cycle([orjson.dumps({"name": r["name"], "arguments": r["arguments"]}) for r in rows])
        tools = sorted({row["name"] for row in rows})
        limits = {"max_turns": 10_000, "max_calls": 10_000, "max_tokens": 1 << 40}
        task = {"id": "bench", "query": "?", "tools": tools, "steps": []}
        self._open = orjson.dumps({"task": task, "limits": limits})

    def episodes(self) -> Script:
        while not self.over():
            name = yield from self._opened()
            if name is not None:
                yield from self._played(name)

    def calls(self) -> Script:
        while not self.over():
            yield "step", "POST", "/v1/call", next(self._calls)

    def batches(self) -> Script:
        while not self.over():
            names: list[str] = []
            while len(names) < BATCH and not self.over():
                name = yield from self._opened()
                names += [name] if name else []
            for number in range(self.turns if names else 0):
                steps = b",".join(
                    b'{"session":"%b","number":%d,"text":%b}' % (n.encode(), number, next(self._texts)) for n in names
                )
                yield "step", "POST", "/v1/steps", b'{"steps":[%b]}' % steps
            for name in names:
                yield "close", "DELETE", f"/v1/sessions/{name}", b""

    def crowd(self) -> Script:
        name = None
        while name is None:
            name = yield from self._opened()
            if name is None:
                yield "wait", "", str(random.randint(20, 400)), b""
        yield from self._played(name)

    def _opened(self) -> Generator[Ask, Answer, str | None]:
        status, body = yield "open", "POST", "/v1/sessions", self._open
        return orjson.loads(body)["session"] if status == 201 else None

    def _played(self, name: str) -> Script:
        for number in range(self.turns):
            body = b'{"number":%d,"text":%b}' % (number, next(self._texts))
            status, reply = yield "step", "POST", f"/v1/sessions/{name}/step", body
            if status != 200:
                self.tally.broken.append(f"step {status}: {reply[:120]!r}")
                return
        status, reply = yield "close", "DELETE", f"/v1/sessions/{name}", b""
        whole = status == 200 and reply.count(b'"call_id"') >= self.turns
        self.tally.whole += whole
        if not whole:
            self.tally.broken.append(f"close {status}")


async def run(port: int, plan: Plan, mode: str, clients: int, seconds: float) -> float:
    """Connect all clients, then play their scripts at once; return the seconds that took."""
    loop = asyncio.get_running_loop()
    ended = [loop.create_future() for _ in range(clients)]
    made = [Client(getattr(plan, mode)(), plan.tally, done) for done in ended]
    for client in made:
        await loop.create_connection(functools.partial(_same, client), "127.0.0.1", port)
    began = time.perf_counter()
    plan.over = lambda: time.perf_counter() - began > seconds
    for client in made:
        client.start()
    await asyncio.gather(*ended)
    return time.perf_counter() - began


def _same(client: Client) -> Client:
    return client


def summary(tally: Tally, seconds: float) -> dict[str, Any]:
    """Return the figures as a JSON object."""
    kinds = {kind: sorted(found) for kind, found in tally.latency.items()}
    marks: Iterator[tuple[str, float]] = ((f"p{round(100 * q)}", q) for q in (0.5, 0.99))
    quantiles = [(name, q) for name, q in marks]
    latency = {
        kind: {name: round(1000 * found[min(int(q * len(found)), len(found) - 1)], 3) for name, q in quantiles}
        for kind, found in kinds.items()
    }
    counts = {kind: len(found) for kind, found in kinds.items()}
    return {
        "seconds": seconds, "counts": counts, "latency_ms": latency, "statuses": dict(tally.statuses),
        "whole": tally.whole, "broken": len(tally.broken), "first_broken": tally.broken[:3],
    }  # fmt: skip


def main() -> None:
    """Run the clients and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m scripts.bench.world.load", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("calls", type=Path, help="JSON Lines with name, arguments, text")
    parser.add_argument("mode", choices=("episodes", "calls", "batches", "crowd"))
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--turns", type=int, default=16)
    given = parser.parse_args()
    rows = [orjson.loads(line) for line in given.calls.read_bytes().splitlines()]
    tally = Tally()
    work = run(given.port, Plan(rows, given.turns, tally), given.mode, given.clients, given.seconds)
    with asyncio.Runner(loop_factory=_loops()) as runner:
        seconds = runner.run(work)
    json.dump(summary(tally, seconds), sys.stdout)


def _loops() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


if __name__ == "__main__":
    main()
