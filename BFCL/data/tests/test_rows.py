"""Rows of every category: as many as published, each with what its judge needs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from BFCL.data.categories import AST, CATEGORIES, MULTI_TURN, NOT_COVERED, ROWS, SINGLE_TURN, known
from BFCL.data.rows import DOCUMENT_FILES, documents, multi_turn_row, multi_turn_rows, single_turn_rows
from BFCL.data.tests.needs import needs_package
from environment.core.errors import DataError

COUNTS = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared")) / "data" / "bfcl_v4_counts.json"


def test_the_numbers_of_rows_are_the_published_ones() -> None:
    if not COUNTS.exists():
        pytest.skip("bfcl_v4_counts.json: reference data not there")
    published: dict[str, Any] = json.loads(COUNTS.read_text())["categories"]
    assert {name: published[name]["rows"] for name in CATEGORIES} == dict(ROWS)


@pytest.mark.parametrize("name", ["multi_turn_bas", "live_simpel"])
def test_an_unknown_category_is_told_with_the_nearest(name: str) -> None:
    with pytest.raises(DataError) as told:
        known(name)
    assert told.value.nearest in CATEGORIES and repr(name) in str(told.value)


@pytest.mark.parametrize("name", NOT_COVERED)
def test_a_category_left_out_is_told_with_the_reason(name: str) -> None:
    with pytest.raises(DataError) as told:
        known(name)
    assert NOT_COVERED[name] in str(told.value)


@needs_package
@pytest.mark.parametrize("category", SINGLE_TURN)
def test_single_turn_rows_are_whole(category: str) -> None:
    rows = single_turn_rows(category)
    assert len(rows) == ROWS[category] == len({row.id for row in rows})
    for row in rows:
        assert row.category == category and row.id.startswith(category)
        assert row.question and row.question[-1]["content"]
        assert bool(row.answers) == (category in AST)
        names = {document["name"] for document in row.functions}
        assert all(name in names for answer in row.answers for name in answer)


@needs_package
@pytest.mark.parametrize("category", MULTI_TURN)
def test_multi_turn_rows_are_whole(category: str) -> None:
    rows = multi_turn_rows(category)
    assert len(rows) == ROWS[category] == len({row.id for row in rows})
    for row in rows:
        assert len(row.turns) == len(row.gold) and set(row.classes) <= set(DOCUMENT_FILES)
        silent = [number for number, turn in enumerate(row.turns) if not turn]
        assert silent == sorted(row.revealed)
        assert bool(row.revealed) == (category == "multi_turn_miss_func")
        assert row.long_context == (category == "multi_turn_long_context")


@needs_package
def test_functions_held_back_are_offered_once_and_only_later() -> None:
    for row in multi_turn_rows("multi_turn_miss_func"):
        offered = [document["name"] for document in row.functions]
        revealed = [document["name"] for found in row.revealed.values() for document in found]
        everything = [document["name"] for name in row.classes for document in documents(name)]
        assert revealed and not set(offered) & set(revealed)
        assert sorted(offered + revealed) == sorted(everything)


@needs_package
def test_a_row_by_its_id_or_the_nearest_one() -> None:
    assert multi_turn_row("multi_turn_base", "multi_turn_base_7") is multi_turn_rows("multi_turn_base")[7]
    with pytest.raises(DataError, match="no such row") as told:
        multi_turn_row("multi_turn_base", "multi_turn_bse_7")
    assert told.value.nearest and "200 in all" in str(told.value)
