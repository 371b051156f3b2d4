"""Rows of the leaderboard as values: what is asked, what is on offer, what is right.

    single turn   question + function documents  ->  accepted answers (none where only the relevance is judged)
    multi turn    questions, a world to act on   ->  gold calls of each turn

A row of `multi_turn_miss_func` holds functions back: they are neither described nor on offer until the turn that
reveals them, whose question is empty.
"""
from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from BFCL.data.categories import AST, MULTI_TURN, SINGLE_TURN, known
from BFCL.data.package import home
from environment.core.errors import DataError, nearest_name

Document = Mapping[str, Any]
"""A function document: name, description, parameters."""
Message = Mapping[str, str]
"""`role` and `content`."""

DOCUMENT_FILES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
"""Class of a multi-turn row → stem of the files that describe and hold it."""


@dataclass(frozen=True, eq=False, slots=True)
class SingleTurnRow:
    """One question that is answered by calls, or by none."""

    id: str
    category: str
    question: tuple[Message, ...]
    functions: tuple[Document, ...]
    answers: tuple[Mapping[str, Mapping[str, Any]], ...] = ()
    """One an expected call: function name → argument → accepted values."""


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
class MultiTurnRow:
    """One conversation about a simulated world."""

    id: str
    category: str
    turns: tuple[tuple[Message, ...], ...]
    """What the user says at each turn; empty where functions are revealed instead."""
    gold: tuple[tuple[str, ...], ...]
    """Right calls of each turn, as Python; a turn without any is not judged."""
    classes: tuple[str, ...]
    """Where two have a method of the same name, the later one's counts."""
    config: Mapping[str, Any]
    """Class → the state it starts in."""
    functions: tuple[Document, ...] = ()
    """On offer from the first turn."""
    revealed: Mapping[int, tuple[Document, ...]] = field(default_factory=dict[int, tuple[Document, ...]])
    """Turn → functions on offer from there on."""

    @property
    def long_context(self) -> bool:
        """Whether results are padded with much that is beside the point."""
        return self.category == "multi_turn_long_context"


@cache
def single_turn_rows(category: str) -> tuple[SingleTurnRow, ...]:
    """Return the rows of a single-turn category, in the leaderboard's order.

    Raises:
        DataError: there is no such category.
        ConfigError: the package is not installed.
    """
    rows = _records(_file(known(category, SINGLE_TURN)))
    answers = _answers(category) if category in AST else {}
    return tuple(
        SingleTurnRow(
            id=row["id"],
            category=category,
            question=tuple(row["question"][0]),
            functions=tuple(row["function"]),
            answers=tuple(answers.get(row["id"], ())),
        )
        for row in rows
    )


@cache
def multi_turn_rows(category: str) -> tuple[MultiTurnRow, ...]:
    """Return the rows of a multi-turn category, in the leaderboard's order; raises as `single_turn_rows` does."""
    rows = _records(_file(known(category, tuple(MULTI_TURN))))
    gold = _answers(category)
    return tuple(_multi_turn(row, category, gold[row["id"]]) for row in rows)


def multi_turn_row(category: str, row_id: str) -> MultiTurnRow:
    """Return one row by its id; DataError with the nearest id where there is none."""
    rows = _by_id(category)
    if row_id not in rows:
        raise DataError(
            f"{category} has no such row", got=row_id, expected=f"{next(iter(rows))} and so on, {len(rows)} in all",
            nearest=nearest_name(row_id, rows),
        )  # fmt: skip
    return rows[row_id]


@cache
def documents(name: str) -> tuple[Document, ...]:
    """Return the function documents of a class of the simulated worlds."""
    return tuple(_records(home() / "data" / "multi_turn_func_doc" / f"{DOCUMENT_FILES[name]}.json"))


@cache
def _by_id(category: str) -> Mapping[str, MultiTurnRow]:
    return {row.id: row for row in multi_turn_rows(category)}


def _multi_turn(row: Mapping[str, Any], category: str, gold: Sequence[Sequence[str]]) -> MultiTurnRow:
    held = {int(turn): tuple(names) for turn, names in row.get("missed_function", {}).items()}
    hidden = {name for names in held.values() for name in names}
    offered = [document for name in row["involved_classes"] for document in documents(name)]
    return MultiTurnRow(
        id=row["id"],
        category=category,
        turns=tuple(tuple(turn) for turn in row["question"]),
        gold=tuple(tuple(calls) for calls in gold),
        classes=tuple(row["involved_classes"]),
        config=row["initial_config"],
        functions=tuple(document for document in offered if document["name"] not in hidden),
        revealed={turn: tuple(d for d in offered if d["name"] in names) for turn, names in held.items()},
    )


def _answers(category: str) -> dict[str, Sequence[Any]]:
    return {row["id"]: row["ground_truth"] for row in _records(_file(category, "possible_answer"))}


def _file(category: str, folder: str = "") -> Path:
    return home() / "data" / folder / f"BFCL_v4_{category}.json"


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines of the package."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in lines:
            if line.strip():
                yield json.loads(line)
    except (OSError, ValueError) as error:
        raise DataError(f"a file of the leaderboard's package can't be read: {error}", where=str(path)) from error
