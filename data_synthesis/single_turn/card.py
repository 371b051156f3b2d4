"""The card of a prepared set: rows in and out of every step, and what the judges were."""
from __future__ import annotations

from pathlib import Path

from data_synthesis.card.document import Card, write_card
from data_synthesis.single_turn.report import PrepareReport


def write_prepare_card(report: PrepareReport) -> tuple[Path, Path]:
    """Write `<output>.card.json` and `<output>.card.md` beside a prepared set."""
    output = Path(report.output)
    steps = {step.value: {"in": count.came, "out": count.left} for step, count in report.steps.items()}
    reasons = {
        f"{step.value}: {reason}": {"rows": rows}
        for step, count in report.steps.items()
        for reason, rows in sorted(count.dropped.items())
    }
    about = {
        "source": Path(report.source).name,
        "rows": report.written,
        "calls": report.calls,
        "rows repaired": report.repaired,
        "judge": report.judge,
        "second judge": report.second or "none",
    }
    about |= {f"tokens of {use.model}": use.prompt_tokens + use.completion_tokens for use in report.use}
    card = Card(
        "Prepared single-turn rows",
        about,
        {"Rows in and out of each step": steps, "Dropped, by step and reason": reasons},
        {"The first row of each reason": [f"{name}: {text}" for name, text in report.examples.items()]},
        files=(output,),
    )
    return write_card(output.with_suffix(""), card)
