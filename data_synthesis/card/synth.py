"""The card of a synthesised set: what its rows are, what was turned down, and what the two splits share."""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from data_synthesis.card.document import Card, write_card
from data_synthesis.overlap.report import overlaps
from data_synthesis.records import read_records
from data_synthesis.synth import SplitReport, SynthReport
from environment.core.schema import ToolSchema

SPLITS = ("train", "heldout")


def write_synth_card(
    folder: Path,
    report: SynthReport,
    about: Mapping[str, Any] | None = None,
    schemas: Mapping[str, ToolSchema] | None = None,
    *,
    against: tuple[Path, ...] = (),
    stem: Path | None = None,
    files: tuple[Path, ...] | None = None,
) -> tuple[Path, Path]:
    """Write the JSON and the Markdown card of the rows that `synthesise` wrote into a folder.

    Args:
        folder: has `train.jsonl` and `heldout.jsonl`.
        report: what the synthesis counted.
        about: further facts, such as the seed and the digest of the world.
        schemas: tools, for comparing calls.
        against: benchmark files to compare both splits with.
        stem: where the card goes, without its endings; `synth` in the folder by default.
        files: what the card vouches for; by default all that the synthesis wrote.
    """
    made = {split: split_report for split, split_report in _splits(report).items() if split_report.rows}
    counted = {split: _count(folder / f"{split}.jsonl") for split in made}
    train, heldout = (folder / f"{split}.jsonl" for split in SPLITS)
    shared = overlaps(train, heldout, against, schemas) if len(made) == len(SPLITS) else []
    facts = {f"{split} rows": f"{r.rows} of {r.wanted} wanted" for split, r in made.items()}
    facts |= {f"{split} query words (least, median, most)": counted[split].pop("words") for split in made}
    card = Card(
        title="Synthesised rows",
        about={**facts, "places only in train": report.places_train, "places only in heldout": report.places_heldout}
        | dict(about or {}),
        counts={
            heading: _side_by_side({split: counted[split][key] for split in made})
            for heading, key in (
                ("By template", "patterns"), ("By number of calls", "steps"), ("By domain", "domains"),
                ("By tool called", "tools"), ("By who worded the query", "writers"),
            )
        }
        | {"Turned down, by reason": _side_by_side({split: r.rejected for split, r in made.items()})},
        notes={
            "One rejected text for each reason": [
                f"{split}, {reason}: {text}" for split, r in made.items() for reason, text in r.examples.items()
            ],
            "Templates that can't be filled": sorted({why for r in made.values() for why in r.infeasible.values()}),
        },
        overlaps=tuple(shared),
        files=files or tuple(folder / f"{split}{suffix}" for split in made for suffix in (".jsonl", ".pkl")),
    )  # fmt: skip
    return write_card(stem or folder / "synth", card)


def _splits(report: SynthReport) -> dict[str, SplitReport]:
    return {"train": report.train, "heldout": report.heldout}


def _count(file: Path) -> dict[str, Any]:
    """Return what the rows of a file are, counted from the file."""
    counts = {name: Counter[str]() for name in ("patterns", "steps", "domains", "tools", "writers")}
    words: list[int] = []
    for row in read_records(file):
        counts["patterns"][row["workflow_id"]] += 1
        counts["steps"][str(len(row["steps"]))] += 1
        counts["domains"][row["domain"]] += 1
        counts["tools"].update(step["ground_truth"]["function"] for step in row["steps"])
        counts["writers"][row["metadata"].get("writer", "offline")] += 1
        words.append(len(row["query"].split()))
    return {**counts, "words": [min(words), median(words), max(words)]}


def _side_by_side(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    names = sorted({name for numbers in counts.values() for name in numbers})
    return {name: {split: numbers.get(name, 0) for split, numbers in counts.items()} for name in names}
