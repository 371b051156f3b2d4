"""Every recorded verdict of the leaderboard's own checker, error type included."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from BFCL.check.ast.check import check
from BFCL.check.ast.rows import judge_lines, judge_row
from BFCL.data.categories import AST

CASES = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "oracles"
FILE = CASES / "bfcl_ast_cases.jsonl.gz"


def cases() -> Iterator[dict[str, Any]]:
    if not FILE.exists():
        pytest.skip("bfcl_ast_cases.jsonl.gz: reference data not there")
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def test_every_verdict_and_error_type() -> None:
    seen = set[str]()
    for case in cases():
        found = check(case["function"], case["possible_answer"], case["model_output"], case["category"])
        assert (found.valid, found.error_type) == (case["valid"], case["error_type"]), case["case_id"]
        seen.add(case["category"])
    assert seen == set(AST)


def test_the_same_as_rows_of_a_file() -> None:
    lines = [json.dumps(case).encode() for case in cases()][:200]
    judged = list(judge_lines(lines, "x"))
    assert [getattr(row, "valid", None) for row in judged] == [json.loads(line)["valid"] for line in lines]


def test_without_a_category_python_rows_are_judged_alike() -> None:
    for case in cases():
        if "java" in case["category"]:
            continue
        row = {key: value for key, value in case.items() if key != "category"}
        found = judge_row(row)
        assert found.valid == case["valid"], case["case_id"]
