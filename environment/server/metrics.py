"""The server's counters in Prometheus' text format."""
from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field

from environment.server.pool import SessionPool

BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
"""Upper bounds of the latency histogram, seconds."""


@dataclass
class Latency:
    """A histogram of seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one request."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds

    def lines(self, name: str, label: str) -> Iterator[str]:
        """Yield the lines of one series."""
        seen = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), self.counts, strict=True):
            seen += count
            yield f'{name}_bucket{{{label},le="{bound}"}} {seen}'
        yield f"{name}_sum{{{label}}} {self.total:.6f}"
        yield f"{name}_count{{{label}}} {seen}"


@dataclass
class Metrics:
    """What a server has done."""

    latencies: dict[str, Latency] = field(default_factory=dict[str, Latency])
    """Route → seconds its requests took."""
    responses: dict[int, int] = field(default_factory=dict[int, int])
    """HTTP status → count."""

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count one response."""
        self.latencies.setdefault(route, Latency()).add(seconds)
        self.responses[status] = self.responses.get(status, 0) + 1

    def text(self, pool: SessionPool) -> str:
        """Return everything as Prometheus reads it."""
        lines = ["# TYPE world_sessions_open gauge", f"world_sessions_open {pool.open_count}"]
        lines += ["# TYPE world_sessions_capacity gauge", f"world_sessions_capacity {pool.capacity}"]
        lines.append("# TYPE world_events_total counter")
        lines += [f'world_events_total{{event="{name}"}} {count}' for name, count in sorted(pool.events.items())]
        lines.append("# TYPE world_http_responses_total counter")
        lines += [f'world_http_responses_total{{status="{s}"}} {n}' for s, n in sorted(self.responses.items())]
        lines.append("# TYPE world_http_seconds histogram")
        for route, latency in sorted(self.latencies.items()):
            lines += latency.lines("world_http_seconds", f'route="{route}"')
        return "\n".join(lines) + "\n"
