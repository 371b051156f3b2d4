"""What a bench leaves: one JSON file with the figures, the settings and the machine they were taken on.

A figure without its machine, or one side of a comparison without the other, can't be judged later. So a file holds the
measures of every subject of one run, and `compare` reads only within a file.
"""
from __future__ import annotations

import os
import platform
import statistics
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import orjson

from environment.core.errors import DataError

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Measure:
    """One quantity of one subject, every repeat of it kept."""

    subject: str
    """Who was measured: `ours`, or the name of what it is compared with."""
    metric: str
    """What was measured, with its unit: `tokens_per_s`, `step_s`."""
    samples: tuple[float, ...]
    """One value a repeat, in the order taken, at least one."""

    def __post_init__(self) -> None:
        if not self.samples:
            raise DataError(f"{self.subject} {self.metric} has no samples", expected="at least one repeat")

    @property
    def median(self) -> float:
        """The median of the repeats."""
        return statistics.median(self.samples)

    @property
    def spread(self) -> float:
        """Half the distance between the greatest and the least repeat; 0 for a single one."""
        return (max(self.samples) - min(self.samples)) / 2


@dataclass(frozen=True)
class BenchRun:
    """One run of one bench."""

    bench: str
    settings: dict[str, object]
    measures: tuple[Measure, ...]
    machine: dict[str, object] = field(default_factory=dict[str, object])
    taken: str = ""
    """When it was taken, ISO 8601 in UTC."""

    def find(self, subject: str, metric: str) -> Measure:
        """Return one measure; raises DataError where this run has none such."""
        for measure in self.measures:
            if (measure.subject, measure.metric) == (subject, metric):
                return measure
        known = ", ".join(f"{m.subject} {m.metric}" for m in self.measures)
        raise DataError(f"bench {self.bench} has no {metric} of {subject}", expected=known or "a run with measures")

    def compare(self, metric: str, subject: str, baseline: str) -> float:
        """Return how many times the baseline's median the subject's is."""
        return self.find(subject, metric).median / self.find(baseline, metric).median


def take(
    bench: str, settings: dict[str, object], measures: Iterable[Measure], packages: Sequence[str] = ()
) -> BenchRun:
    """Return a run dated now, with this machine and the versions of the packages that matter."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return BenchRun(bench, settings, tuple(measures), describe_machine(packages), now)


def describe_machine(packages: Sequence[str] = ()) -> dict[str, object]:
    """Return processor, cores this process may use, memory, system, Python, versions and commit; no names of hosts."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in packages},
        "commit": _commit(),
    }


def write(run: BenchRun, folder: Path) -> Path:
    """Write a run as `<bench>-<time>.json` in a folder that is made if need be; return the path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{run.bench}-{run.taken.replace(':', '').replace('+0000', 'Z') or 'undated'}.json"
    data = {"schema_version": SCHEMA_VERSION, **asdict(run)}
    path.write_bytes(orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    return path


def read(path: Path) -> BenchRun:
    """Read a run back; raises DataError where the file is none or of another version."""
    try:
        data = orjson.loads(path.read_bytes())
        if data.pop("schema_version") != SCHEMA_VERSION:
            raise DataError("written by another version of the benches", where=str(path))
        measures = tuple(Measure(m["subject"], m["metric"], tuple(m["samples"])) for m in data.pop("measures"))
        return BenchRun(measures=measures, **data)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"no bench result: {error}", where=str(path)) from error


def table(run: BenchRun) -> str:
    """Return the measures as a Markdown table, a row a subject and metric: median, half the range, repeats."""
    rows = [f"| {m.subject} | {m.metric} | {m.median:.4g} ± {m.spread:.2g} | {len(m.samples)} |" for m in run.measures]
    return "\n".join(["| subject | metric | median ± half range | repeats |", "|---|---|---|---|", *rows])


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    ended = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return ended.stdout.strip() or None
