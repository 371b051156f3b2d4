"""The LLM query writer: rewords the queries of synthesised rows through any OpenAI-compatible endpoint.

A row comes with its solved chain and an offline query. The model is told what the user wants, value by value, and
nothing of tools or ids; its text is taken only if `checks.query_problems`, the same checks the offline writer is held
to, finds nothing and no other text of the set is like it. What was wrong is told to the model, which may try again;
after the last try the row keeps its offline query. So a set has the same rows, chains and split whoever words it.
"""
from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from data_synthesis.checks import CheckConfig, query_problems
from data_synthesis.duplicates import NearDuplicates
from data_synthesis.index import Entry
from data_synthesis.records import read_records, write_records
from data_synthesis.search import Chain
from data_synthesis.templates.model import Pattern, Rule
from data_synthesis.words import pick_plainly
from environment.core.canonical import json_key
from environment.core.errors import DataError
from environment.core.schema import ToolSchema
from environment.core.task import Edge, GoldStep
from environment.server.endpoint.answers import Unusable
from environment.server.endpoint.ask import Asker, Message, in_order
from environment.server.endpoint.connect import EndpointSettings, connect
from environment.server.endpoint.failures import TooLong

TRIES = 3
"""Texts asked for, each told what was wrong with those before."""
WINDOW = 2
"""Rows in memory for each request under way."""

INSTRUCTIONS = """\
You word requests to a travel assistant. You get what a traveller wants, as an example request and a list of facts. \
Say the same in other words, as one person would write it: one or two sentences, with every fact in it, dates and \
numbers unchanged in meaning, names spelled as given. Add no fact and no place. Say what is wanted, not how to find \
it: no steps, no tools, no ids. Answer with one JSON object: {"query": "..."}."""
"""What the model is told."""


class Wording(BaseModel):
    """What the model is asked for."""

    model_config = ConfigDict(extra="forbid", strict=True)
    query: str = Field(min_length=1, max_length=2000, description="the request in other words")


@dataclass
class WriterReport:
    """What became of a set's queries."""

    model: str
    reworded: int = 0
    kept: int = 0
    """Rows that keep their offline query."""
    rejected: Counter[str] = field(default_factory=Counter[str])
    """Reason → texts turned down."""
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """Reason → the first text turned down for it."""
    counts: dict[str, int] = field(default_factory=dict[str, int])
    """`asked`, `cached`, and replies that could not be used."""
    failures: dict[str, int] = field(default_factory=dict[str, int])
    tokens: int = 0
    cost: float = 0.0

    def reject(self, reason: str, text: str) -> None:
        """Count a text that was turned down."""
        self.rejected[reason] += 1
        self.examples.setdefault(reason, text)


def chain_of(record: Mapping[str, Any], patterns: Mapping[str, Pattern], schemas: Mapping[str, ToolSchema]) -> Chain:
    """Return the chain a record was made from.

    Raises:
        DataError: the record was not synthesised here, or its template is gone.
    """
    metadata, where = record.get("metadata") or {}, f"record {record.get('id')}"
    pattern = patterns.get(str(record.get("workflow_id")))
    if pattern is None or "values" not in metadata:
        given = record.get("workflow_id")
        raise DataError("the record has no template", where=where, got=given, expected="a record of tool-rl synth")
    entries, steps = [], []
    for step in record["steps"]:
        call, schema = step["ground_truth"], schemas[step["ground_truth"]["function"]]
        keys = {name: json_key(value) for name, value in call["arguments"].items()}
        response = step["execution_result"]["execution_result"]
        entries.append(Entry(call["arguments"], keys, response, schema, lambda _, value: value))
        edges = tuple(Edge(e["argument"], e["producer"], e["field"]) for e in step["edges"])
        steps.append(GoldStep(call["function"], call["arguments"], tuple(step["depends_on"]), edges))
    picks = {name: Rule(rule) if rule in set(Rule) else rule for name, rule in metadata["picks"].items()}
    return Chain(pattern, metadata["values"], picks, tuple(entries), tuple(steps))


class LlmWriter:
    """Words one chain at a time; many may be under way."""

    def __init__(
        self,
        asker: Asker,
        schemas: Mapping[str, ToolSchema],
        config: CheckConfig,
        report: WriterReport,
        places: frozenset[str] = frozenset(),
    ) -> None:
        """Take who is asked, what texts are held to, and the places of the whole set, which others must not name."""
        self._asker = asker
        self._schemas = schemas
        self._config = config
        self._report = report
        self._places = places

    async def word(self, chain: Chain, example: str) -> str | None:
        """Return a query for a chain that passes every check, or None after the last try.

        Raises:
            EndpointError: the endpoint can't be asked any more, or the budget is spent.
        """
        messages = question(chain, example)
        for _ in range(TRIES):
            try:
                text = " ".join((await self._asker.ask(messages, Wording)).query.split())
            except (Unusable, TooLong) as error:
                self._report.reject("no_usable_answer", str(error))
                return None
            found = self._problems(chain, text)
            if not found:
                return text
            self._report.reject(found[0][0], f"{found[0][1]}: {text}")
            messages = [*messages, *_told(text, [f"{why.replace('_', ' ')}: {detail}" for why, detail in found])]
        return None

    def _problems(self, chain: Chain, text: str) -> list[tuple[str, str]]:
        """Return (reason, detail) for all that is wrong with a text; a place of another row would break the split."""
        rest = text
        for own in sorted(chain.places, key=len, reverse=True):
            rest = rest.replace(own, "")
        words = set(re.findall(r"\w+", rest))
        stray = [
            place
            for place in self._places - chain.places
            if re.findall(r"\w+", place)[0] in words and re.search(rf"(?<!\w){re.escape(place)}(?!\w)", rest)
        ]
        checked = query_problems(chain, text, self._schemas, self._config)
        return [(p.reason.value, p.detail) for p in checked] + [("stray_place", place) for place in sorted(stray)]


def question(chain: Chain, example: str) -> list[Message]:
    """Return the messages that ask for a chain's query; they hold no tool, id or result."""
    facts: dict[str, Any] = {name.replace("_", " "): value for name, value in chain.values.items()}
    facts |= {f"which {name}": f"say: {pick_plainly(rule, '…')}" for name, rule in chain.picks.items()}
    asked = json.dumps({"example": example, "facts": facts}, ensure_ascii=False)
    return [{"role": "system", "content": INSTRUCTIONS}, {"role": "user", "content": asked}]


def _told(text: str, problems: Iterable[str]) -> list[Message]:
    wrong = "; ".join(problems)
    return [
        {"role": "assistant", "content": json.dumps({"query": text}, ensure_ascii=False)},
        {"role": "user", "content": f"That can't be used: {wrong}. Word it anew."},
    ]


def reword(
    files: Sequence[Path],
    patterns: Mapping[str, Pattern],
    schemas: Mapping[str, ToolSchema],
    settings: EndpointSettings,
    *,
    checks: CheckConfig | None = None,
    similarity: float = 0.85,
    progress: Callable[[int], None] = lambda _: None,
) -> WriterReport:
    """Reword the queries of synthesised sets, in place: each `.jsonl`, and the `.pkl` of its name where there is one.

    Texts are unlike across all the files. Nothing is written until every row is done; answers are kept in the cache of
    the settings, so a run that ended early is resumed by running it again.

    Args:
        files: the splits of one set.
        patterns: templates by id.
        schemas: tools by name.
        settings: the model.
        checks: bounds of the checks, those of the synthesis.
        similarity: texts whose word triples overlap this much count as one.
        progress: told the number of rows done.

    Raises:
        DataError: a row was not synthesised here.
        EndpointError: the endpoint can't be asked any more, or the budget is spent; the files are untouched.
    """
    sets = {path: list(read_records(path)) for path in files}
    report = WriterReport(settings.model)
    places = _places(sets.values(), patterns, schemas)
    texts = NearDuplicates(similarity)

    async def every() -> None:
        async with connect(settings) as asker:
            writer = LlmWriter(asker, schemas, checks or CheckConfig(), report, places)

            async def one(record: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
                example = record["metadata"].get("offline_query", record["query"])
                return record, await writer.word(chain_of(record, patterns, schemas), example)

            rows = (record for records in sets.values() for record in records)
            done = 0
            async for record, text in in_order(rows, one, WINDOW * settings.concurrency):
                _apply(record, text, texts, report)
                done += 1
                progress(done)
            report.counts, report.failures = dict(asker.counts), dict(asker.endpoint.failures)
            report.tokens, report.cost = asker.budget.prompt + asker.budget.completion, asker.budget.cost

    asyncio.run(every())
    for path, records in sets.items():
        write_records(path, records)
        if path.with_suffix(".pkl").exists():
            write_records(path.with_suffix(".pkl"), records)
    return report


def _places(
    sets: Iterable[list[dict[str, Any]]], patterns: Mapping[str, Pattern], schemas: Mapping[str, ToolSchema]
) -> frozenset[str]:
    """Return every place that a row of these sets names; DataError at the first row that has no chain."""
    rows = (record for records in sets for record in records)
    return frozenset(place for record in rows for place in chain_of(record, patterns, schemas).places)


def _apply(record: dict[str, Any], text: str | None, texts: NearDuplicates, report: WriterReport) -> None:
    """Give a record its new query, or leave it the offline one, and say which in its metadata."""
    if text is not None and not texts.add(text):
        report.reject("near_duplicate", text)
        text = None
    if text is None:
        texts.add(record["query"])
        report.kept += 1
        return
    offline = record["metadata"].get("offline_query", record["query"])
    record["metadata"] = {**record["metadata"], "writer": report.model, "offline_query": offline}
    record["query"] = text
    report.reworded += 1
