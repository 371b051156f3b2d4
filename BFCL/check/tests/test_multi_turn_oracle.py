"""Every recorded verdict of the leaderboard's own multi-turn checker, error type included; all gold; memory."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from BFCL.check.multi_turn.rows import judge_row
from BFCL.data.categories import MULTI_TURN
from BFCL.data.tests.needs import needs_package

pytestmark = needs_package

FILE = (
    Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared"))
    / "data" / "oracles" / "bfcl_multi_turn_cases.jsonl.gz"
)  # fmt: skip


def cases() -> Iterator[dict[str, Any]]:
    if not FILE.exists():
        pytest.skip("bfcl_multi_turn_cases.jsonl.gz: reference data not there")
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def test_every_verdict_and_error_type() -> None:
    seen = set[str]()
    for case in cases():
        found = judge_row(case)
        assert (found.valid, found.error_type) == (case["valid"], case["error_type"]), case["case_id"]
        seen.add(case["category"])
    assert seen == set(MULTI_TURN)


def test_the_same_in_the_opposite_order() -> None:
    for case in reversed([*cases()]):
        assert judge_row(case).valid == case["valid"], case["case_id"]


PASSES = """
import json, resource, sys
from BFCL.check.multi_turn.check import check
from BFCL.data.categories import MULTI_TURN
from BFCL.data.rows import multi_turn_rows
rows = [row for category in MULTI_TURN for row in multi_turn_rows(category)]
rollouts = [[[list(calls)] for calls in row.gold] for row in rows]
def rss():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
seen = []
for _ in range(50):
    assert all(check(row, rollout).valid for row, rollout in zip(rows, rollouts))
    seen.append(rss())
print(json.dumps(seen))
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc: the memory of a process can't be read")
def test_memory_is_flat_over_fifty_passes_of_every_row() -> None:
    ended = subprocess.run([sys.executable, "-c", PASSES], capture_output=True, text=True, timeout=600, check=True)
    seen: list[int] = json.loads(ended.stdout)
    settled = seen[10:]
    middle = (len(settled) - 1) / 2
    mean = sum(settled) / len(settled)
    slope = sum((at - middle) * (value - mean) for at, value in enumerate(settled))
    slope /= sum((at - middle) ** 2 for at in range(len(settled)))
    assert abs(slope) < 20_000, f"{slope:.0f} bytes a pass of 800 rows"
    assert settled[-1] - settled[0] < 4 << 20
    assert resource.getpagesize()
