"""`BfclSuite`: rows of the leaderboard, asked by prompting or by function calling, judged by its rules."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from BFCL.check.ast.check import check as check_ast
from BFCL.check.leaderboard import GROUPS, Tally, leaderboard
from BFCL.check.multi_turn.check import check as check_rollout
from BFCL.check.relevance import check_relevance
from BFCL.data.categories import AST, CATEGORIES, MULTI_TURN, NOT_COVERED, RELEVANCE, SINGLE_TURN, known
from BFCL.data.gold import gold_calls
from BFCL.data.package import VERSION, home
from BFCL.data.rows import MultiTurnRow, SingleTurnRow, multi_turn_rows, single_turn_rows
from BFCL.execute.classes import named
from BFCL.parse.formats import FORMATS
from BFCL.parse.one_call import OneCall, read_call
from environment.core.errors import ConfigError, nearest_name
from environment.core.trajectory import Trajectory
from evaluation import tally
from evaluation.suite import Item, Judged, Mark, Seat, Suite
from evaluation.suites.bfcl.play import MADE, READ, play_conversation, play_single
from evaluation.suites.bfcl.styles import Calls, Functions, Prompting, Style

Row = SingleTurnRow | MultiTurnRow
UNREAD = "ast_decoder:decoder_failed"
"""The leaderboard's name for an answer that can't be read as calls."""
DONE = "Done."
NONE_FITS = "None of the functions can do that."

_NAMES: Mapping[str, tuple[str, ...]] = {
    "all": CATEGORIES,
    "single_turn": SINGLE_TURN,
    **{group: GROUPS[group] for group in ("non_live", "live", "multi_turn")},
    "relevance": tuple(RELEVANCE),
}
"""Names that stand for several categories."""


class Options(BaseModel):
    """What the suite is opened with."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    categories: tuple[str, ...] = ("all",)
    """Categories, or `all`, `single_turn`, `multi_turn`, `non_live`, `live`, `relevance`; with commas between."""
    style: Literal["functions", "prompting"] = "functions"
    """Whether functions are offered as such, or in the prompt."""
    call_format: str = "hermes"
    """How a model's text writes function calls; only with `functions`."""
    limit: int | None = Field(None, ge=1)
    """Only the first so many rows of each category."""

    @field_validator("categories", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        given = [value] if isinstance(value, str) else value
        if not isinstance(given, list | tuple):
            return given
        return tuple(name.strip() for each in given for name in str(each).split(","))

    def chosen(self) -> tuple[str, ...]:
        """Return the categories asked for, in the leaderboard's order; DataError for an unknown one."""
        asked = {each for name in self.categories for each in _NAMES.get(name) or (known(name),)}
        return tuple(name for name in CATEGORIES if name in asked)


class BfclSuite(Suite[Row]):
    """Rows of the leaderboard."""

    name = "bfcl"

    def __init__(self, options: Options) -> None:
        """Read the rows.

        Raises:
            ConfigError: the package is not installed, or there is no such format.
            DataError: a category is unknown or not covered.
        """
        home()
        self.options = options
        if options.call_format not in FORMATS:
            near = nearest_name(options.call_format, FORMATS)
            raise ConfigError("unknown call format", got=options.call_format, expected=", ".join(FORMATS), nearest=near)
        self.style: Style = Prompting() if options.style == "prompting" else Functions(options.call_format)
        self.items: Sequence[Item[Row]] = [
            Item(row.id, row, {"category": name}) for name in options.chosen() for row in _rows(name)[: options.limit]
        ]

    def manifest(self) -> dict[str, Any]:
        """Return release, categories and style."""
        return {"bfcl_eval": VERSION, "categories": list(self.options.chosen()), **self.options.model_dump(
            include={"style", "call_format", "limit"}
        )}  # fmt: skip

    async def episode(self, item: Item[Row], seat: Seat) -> Trajectory:
        """Ask once, or play a conversation."""
        if isinstance(item.case, MultiTurnRow):
            return await play_conversation(item.case, seat, self.style)
        return await play_single(item.case, seat, self.style)

    def judge(self, item: Item[Row], trajectory: Trajectory) -> Mark:
        """Judge by the leaderboard's rules."""
        row = item.case
        if isinstance(row, MultiTurnRow):
            found = check_rollout(row, trajectory.meta[MADE])
            figures = {"calls_mean": float(len(trajectory.calls)), "turns_right": _share(found.turn, row, found.valid)}
            return Mark(found.valid, found.error_type or "none", figures, {"turn": found.turn})
        error = judge_single(row, trajectory.meta[READ])
        return Mark(not error, error or "none", {"calls_mean": float(len(trajectory.calls))})

    def summarise(self, judged: Sequence[Judged], samples: int, seed: int) -> dict[str, Any]:
        """Return figures, a breakdown by category, and the leaderboard's scores of greedy decoding."""
        summary = tally.summarise(self.items, judged, FIGURES, samples, seed)
        scores = leaderboard(_tallies(judged))
        return {**summary, "leaderboard": {**asdict(scores), "not_covered": dict(NOT_COVERED)}}

    def said(self, item: Item[Row]) -> str:
        """Return what the user says, all turns of it."""
        turns = item.case.turns if isinstance(item.case, MultiTurnRow) else (item.case.question,)
        return "\n".join(message["content"] for turn in turns for message in turn if message["role"] == "user")

    def gold(self, item: Item[Row]) -> Sequence[str]:
        """Return turns made of the row's own answers."""
        row = item.case
        if isinstance(row, MultiTurnRow):
            return [text for calls in row.gold for text in self._gold_turn(row, calls)]
        if row.category in AST:
            return [self.style.write(gold_calls(row), row.category)]
        wanted = row.category == "live_relevance"
        return [self.style.write([{row.functions[0]["name"]: {}}], row.category) if wanted else NONE_FITS]

    def _gold_turn(self, row: MultiTurnRow, calls: Sequence[str]) -> list[str]:
        read = [call for call in map(read_call, calls) if isinstance(call, OneCall)]
        written: Calls = [{call.name: named(call, row.classes)} for call in read]
        return [self.style.write(written, row.category), DONE] if written else [DONE]


def judge_single(row: SingleTurnRow, calls: Calls | None) -> str:
    """Return the name of the first mistake of a single turn, "" where there is none."""
    if row.category in RELEVANCE:
        return check_relevance(row.category, calls).error_type
    return UNREAD if calls is None else check_ast(row.functions, row.answers, calls, row.category).error_type


def _rows(category: str) -> Sequence[Row]:
    return multi_turn_rows(category) if category in MULTI_TURN else single_turn_rows(category)


def _share(turn: int | None, row: MultiTurnRow, valid: bool) -> float:
    """Return the share of turns before the first wrong one."""
    return 1.0 if valid else (turn or 0) / len(row.gold)


def _tallies(judged: Sequence[Judged]) -> dict[str, Tally]:
    right: dict[str, list[bool]] = {}
    for each in judged:
        if each.sample == 0 and each.outcome is not None:
            right.setdefault(each.item.labels["category"], []).append(each.outcome.success)
    return {name: Tally(sum(marks), len(marks)) for name, marks in right.items()}


FIGURES = tally.Figures(shares=("turns_right",), amounts=("calls_mean",))
"""What the summary shows beside success; `turns_right` is of conversations alone."""


def open_suite(options: Options) -> BfclSuite:
    """Return the suite; the registry calls this."""
    return BfclSuite(options)
