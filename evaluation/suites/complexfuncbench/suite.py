"""`ComplexFuncBench`: entries of its file played against what the file records, judged by two rule sets.

Both rule sets are applied to every episode; `rules` says which one leads and how episodes are played:

    strict      the episode loop of training, the world answers every call as it is made
    reference   no system prompt, observations whole, gold answers for whatever matches, the end at a turn without match
"""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from BFCL.parse.hermes import parse_turn
from environment.core.trajectory import Trajectory
from environment.server.endpoint.connect import EndpointSettings
from environment.server.opening import open_world
from environment.session.drive import drive
from environment.session.limits import Limits
from environment.session.prompt import call_text
from environment.session.session import Session
from evaluation.settings import file_digest
from evaluation.store import key_of
from evaluation.suite import Item, Judged, Mark, Seat, Suite
from evaluation.suites.complexfuncbench.answers import AnswerJudge
from evaluation.suites.complexfuncbench.driving import REFERENCE_LIMITS, ReferenceSession
from evaluation.suites.complexfuncbench.entries import Entry, read_entries
from evaluation.suites.complexfuncbench.figures import summary_of
from evaluation.suites.complexfuncbench.reference import judge_reference
from evaluation.suites.complexfuncbench.strict import call_marks, judge_strict
from evaluation.suites.complexfuncbench.world import EntryWorld, all_schemas, import_gold

VERSION = 1
"""Of the rules; numbers of different versions don't compare."""
Rules = Literal["strict", "reference"]


class Options(BaseModel):
    """What the suite is opened with."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    data: Path = Path("data/ComplexFuncBench.jsonl")
    """The benchmark's file, or one in its format."""
    world: Path | None = None
    """A recorded world for calls that the entry itself doesn't record; None: what the whole file records."""
    rules: Rules = "strict"
    limit: int | None = Field(None, ge=1)
    """Only the first so many entries."""
    limits: Limits | None = None
    """Bounds of an episode; None: those of training for `strict`, none to speak of for `reference`."""
    instructions: str | None = None
    """Replaces the system prompt; an empty text leaves it out, as `reference` does by itself."""
    judge_model: str | None = None
    """Grades answers for completeness and correctness, by the name its endpoint serves it under."""
    judge_base_url: str = "https://api.openai.com/v1"
    judge_key_env: str = "OPENAI_API_KEY"


class ComplexFuncBench(Suite[Entry]):
    """The entries of one file."""

    name = "complexfuncbench"

    def __init__(self, options: Options) -> None:
        """Read the entries and open the world they are played in; without one, the file's own records become it."""
        self.options = options
        entries = read_entries(options.data, options.limit)
        self.items: Sequence[Item[Entry]] = [_item(entry) for entry in entries]
        self._entries = {entry.id: entry for entry in entries}
        self._open = ExitStack()
        schemas = all_schemas(entries)
        path = options.world
        if path is None:
            path = Path(self._open.enter_context(TemporaryDirectory(prefix="tool-rl-cfb-"))) / "world.db"
            import_gold(options.data, path, schemas)
        self._shared = open_world(path, schemas)
        self._open.callback(self._shared.close)
        self._world = lru_cache(maxsize=64)(self._make_world)
        self.answers = _answer_judge(options)
        """The judge of answers, None where none is named."""

    def manifest(self) -> dict[str, Any]:
        """Return data, world, rules and judge, by content."""
        options = self.options
        return {
            "suite": self.name,
            "suite_version": VERSION,
            "data": file_digest(options.data),
            "world": self._shared.content_hash,
            "rules": options.rules,
            "limits": asdict(self._limits()),
            "limit": options.limit,
            "instructions": self._instructions(),
        }

    async def episode(self, item: Item[Entry], seat: Seat) -> Trajectory:
        """Play one entry."""
        entry, world, limits = item.case, self._world(item.id), self._limits()
        policy = seat.converse(entry.tools())
        if self.options.rules == "reference":
            return await ReferenceSession(entry, world, limits, self._instructions(), seat).play(policy)
        session = Session(
            entry.task(), world, entry.schemas, limits, parse_turn, seat.sampling.seed,
            count=seat.count, instructions=self._instructions(),
        )  # fmt: skip
        return await drive(policy, session)

    def judge(self, item: Item[Entry], trajectory: Trajectory) -> Mark:
        """Judge by both rule sets; the one chosen leads."""
        world = self._world(item.id)
        strict = judge_strict(item.case, world, trajectory)
        reference = judge_reference(item.case, world, trajectory)
        leads = strict if self.options.rules == "strict" else reference
        fault = "none" if leads.success else strict.fault
        figures: dict[str, float | None] = {
            "turn_accuracy": leads.success_turns / leads.turns,
            "call_accuracy": leads.right_calls / leads.gold_calls,
            "calls_mean": float(len(trajectory.calls)),
        }
        if self.answers is not None:
            figures |= self.answers.figures(key_of(trajectory))
        detail = {
            "strict": asdict(strict),
            "reference": {"success": reference.success, "message": reference.message, **reference.count_dict()},
            "marks": call_marks(strict, trajectory.calls),
        }
        return Mark(leads.success, fault, figures, detail)

    def summarise(self, judged: Sequence[Judged], samples: int, seed: int) -> dict[str, Any]:
        """Return figures of both rule sets, by domain and by length."""
        found = summary_of(self.items, judged, self.options.rules, samples, seed)
        if self.answers is not None:
            failed = self.answers.failures()
            found["answer_judge"] = {"model": self.options.judge_model, "failures": failed}
            found["warnings"] += [f"the judge of answers failed {failed} times; run again to ask it"] if failed else []
        return found

    def gold(self, item: Item[Entry]) -> list[str]:
        """Return the gold turns, the calls of each side by side, and the closing answer."""
        entry = item.case
        turns = ["\n".join(call_text(c.name, c.arguments) for c in entry.turn(n)) for n in range(entry.turns)]
        return [*turns, entry.answer or "Done."]

    def said(self, item: Item[Entry]) -> str:
        """Return the request."""
        return item.case.query

    async def review(self, episodes: Any, place: Path) -> None:
        """Have the answers graded, where a judge is named."""
        if self.answers is None:
            return
        kept = place.with_name(f"{place.name}.answers.db")
        self.answers.settings = replace(self.answers.settings, cache=kept)
        await self.answers.grade_all(episodes, self._entries, place.with_name(f"{place.name}.answers.jsonl"))

    def close(self) -> None:
        """Close the world, and remove it where it was made for this run."""
        self._open.close()

    def _make_world(self, item_id: str) -> EntryWorld:
        return EntryWorld(self._entries[item_id], self._shared)

    def _limits(self) -> Limits:
        default = Limits() if self.options.rules == "strict" else REFERENCE_LIMITS
        return self.options.limits or default

    def _instructions(self) -> str | None:
        given = self.options.instructions
        return "" if given is None and self.options.rules == "reference" else given


def open_suite(options: Options) -> ComplexFuncBench:
    """Return the suite; the registry calls this."""
    return ComplexFuncBench(options)


def _item(entry: Entry) -> Item[Entry]:
    return Item(entry.id, entry, {"domain": entry.domain, "length": str(len(entry.calls))})


def _answer_judge(options: Options) -> AnswerJudge | None:
    if options.judge_model is None:
        return None
    return AnswerJudge(EndpointSettings(options.judge_base_url, options.judge_model, options.judge_key_env))
