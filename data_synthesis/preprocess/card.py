"""The card of a parquet: how many rows of what, which records were turned down, which have defects."""
from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from data_synthesis.card.document import Card, amend_card, write_card
from data_synthesis.preprocess.report import PreprocessReport


def write_preprocess_card(title: str, report: PreprocessReport) -> tuple[Path, Path]:
    """Write `<output>.card.json` and `<output>.card.md` beside a parquet."""
    output = Path(report.output)
    about = {
        "rows": report.written,
        "records read": report.read,
        "records left out because they failed": report.unsuccessful,
        "bad records": report.bad_rows,
        "arguments that come from an earlier result": report.edges,
        "characters of the longest prompt": report.longest_prompt,
    }
    counts = {
        "By template": _counts(report.patterns),
        "By number of calls": _counts(report.steps),
        "By domain": _counts(report.domains),
        "Defects of records made elsewhere": _counts(report.defects),
    }
    notes = {
        "Bad records, left out": [f"{row.where}: {row.problem}" for row in report.bad],
        "Records with defects, kept": [f"{row.where}: {row.problem}" for row in report.defective],
    }
    card = Card(
        title,
        about,
        counts,
        notes,
        files=(output,),
    )
    return write_card(output.with_suffix(""), card)


def amend_preprocess_card(output: Path, about: Mapping[str, Any]) -> None:
    """Add facts to the card of a parquet that was changed after it was written."""
    amend_card(output.with_suffix(""), about, [output])


def _counts(numbers: Mapping[Any, int]) -> dict[str, dict[str, int]]:
    return {str(name or "(none)"): {"rows": numbers[name]} for name in sorted(numbers, key=lambda n: (str(type(n)), n))}
