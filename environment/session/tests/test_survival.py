"""What later gold steps need is still seen at the default limit, on the reference's own records.

The cutter is given a reply and the keys of its tool, nothing else; the gold steps are looked at afterwards.
"""
from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from environment.booking.schemas import load_schemas
from environment.core.calls import JsonValue
from environment.session.json_text import scalars
from environment.session.limits import Limits
from environment.session.observation import Clipped, LeftOut, ObservationCut, kept_keys

SHARED = Path(os.environ.get("TOOL_RL_SHARED", Path(__file__).parents[4] / "shared"))
FILES = ("bfcl_training_3_per_workflow.jsonl", "eval_100.jsonl")
DEFAULT = next(f.default for f in fields(Limits) if f.name == "observation_tokens")
SCHEMAS = load_schemas()


@dataclass(frozen=True)
class Needed:
    """A value that a gold step takes from an earlier reply."""

    where: str
    value: str
    tool: str
    reply: JsonValue


def words(value: JsonValue) -> set[str]:
    """Return the scalars of a value as text; what the cutter put there itself is none of them."""
    found = (leaf for _, leaf in scalars(value) if not isinstance(leaf, Clipped | LeftOut | dict | list | bool | None))
    return {as_text(leaf) for leaf in found}


def as_text(value: JsonValue) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def needed(path: Path) -> Iterator[Needed]:
    """Yield every argument of a dependent gold step that stands in the reply of a step it depends on."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        replies = [step["execution_result"] for step in record["steps"]]
        for number, step in enumerate(record["steps"]):
            for place, argument in scalars(step["ground_truth"]["arguments"]):
                for producer in step["depends_on"]:
                    reply = replies[producer]["execution_result"]
                    if as_text(argument) in words(reply):
                        where = f"{record['workflow_id']} step {number} {place} from {producer}"
                        yield Needed(where, as_text(argument), replies[producer]["function"], reply)


def lost(items: list[Needed], cut: ObservationCut) -> list[Needed]:
    return [n for n in items if n.value not in words(cut(n.reply, kept_keys(SCHEMAS[n.tool])).seen)]


def test_values_that_later_gold_steps_need_survive_the_default_cut() -> None:
    paths = [SHARED / "data" / name for name in FILES]
    if not all(path.is_file() for path in paths):
        pytest.skip(f"no reference data in {SHARED}")
    items = [item for path in paths for item in needed(path)]
    gone = lost(items, Limits().cut())
    assert len(items) > 300, "the held-out file has no replies with such values, the training file has"
    assert len(gone) <= 0.01 * len(items), "\n".join(f"{n.where}: {n.value}" for n in gone)


def test_half_the_budget_still_keeps_most() -> None:
    path = SHARED / "data" / FILES[0]
    if not path.is_file():
        pytest.skip(f"no reference data at {path}")
    items = list(needed(path))
    gone = lost(items, ObservationCut(limit_chars=2048))
    assert len(gone) < 55 / 371 * len(items) / 2, "the reference loses 55 of 371"
