"""What a preparation did: rows in and out of every step, reasons, repairs, what the judges cost."""
from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from data_synthesis.single_turn.model import Dropped, Item, Step
from environment.server.endpoint.ask import Asker

_SHOWN = 3


@dataclass
class StepCount:
    """Rows of one step."""

    came: int = 0
    dropped: Counter[str] = field(default_factory=Counter[str])
    """Reason → rows."""

    @property
    def left(self) -> int:
        """Rows the step let through."""
        return self.came - self.dropped.total()


@dataclass
class JudgeUse:
    """What one model was asked and what it cost."""

    model: str
    counts: dict[str, int]
    """`asked`, `cached`, and replies that could not be used by reason."""
    failures: dict[str, int]
    """Tries the endpoint failed, by kind."""
    prompt_tokens: int
    completion_tokens: int
    cost: float

    @classmethod
    def of(cls, asker: Asker) -> JudgeUse:
        """Return what an asker has done so far."""
        used, endpoint = asker.budget, asker.endpoint
        return cls(
            endpoint.model, dict(asker.counts), dict(endpoint.failures), used.prompt, used.completion, used.cost
        )


@dataclass
class PrepareReport:
    """Counts of one run."""

    source: str
    output: str
    judge: str
    """Name of the first judge."""
    second: str | None = None
    """Name of the second, None where there was none."""
    steps: dict[Step, StepCount] = field(default_factory=lambda: {step: StepCount() for step in Step})
    written: int = 0
    calls: int = 0
    repaired: int = 0
    """Rows written that were changed."""
    examples: dict[str, str] = field(default_factory=dict[str, str])
    """Step and reason → the first row dropped for it, by name."""
    use: list[JudgeUse] = field(default_factory=list[JudgeUse])

    def passed(self, *steps: Step) -> None:
        """Count a row that came to each of these steps."""
        for step in steps:
            self.steps[step].came += 1

    def drop(self, row: Dropped) -> None:
        """Count a row that a step it has come to drops."""
        self.steps[row.step].dropped[row.reason] += 1
        self.examples.setdefault(f"{row.step}: {row.reason}", f"{row.where}: {row.detail}")

    def write(self, item: Item) -> None:
        """Count a row that is written."""
        self.written += 1
        self.calls += len(item.calls)
        self.repaired += bool(item.repairs)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        steps = {s.value: {"in": c.came, "out": c.left, "dropped": dict(c.dropped)} for s, c in self.steps.items()}
        return {**asdict(self), "steps": steps}

    def summary(self) -> str:
        """Return the run as a table for a terminal or a Markdown file."""
        head = f"{self.written} of {self.steps[Step.READ].came} rows → {self.output} ({self.repaired} repaired)"
        judges = f"judged by {self.judge}, then by {self.second or 'nobody else'}"
        rows = [f"| {s.value} | {c.came} | {c.left} | {_reasons(c.dropped)} |" for s, c in self.steps.items()]
        first = [f"  {name}: {_short(text)}" for name, text in self.examples.items()]
        first = ["", "the first row of each reason:", *first] if first else []
        columns = ["| step | in | out | dropped |", "|---|---|---|---|"]
        return "\n".join([head, judges, "", *columns, *rows, *first, *self._cost()])

    def _cost(self) -> list[str]:
        lines = [
            f"{use.model}: {use.counts.get('asked', 0)} asked, {use.counts.get('cached', 0)} from disk, "
            f"{use.prompt_tokens} + {use.completion_tokens} tokens"
            + (f", cost {use.cost:.4f}" if use.cost else "")
            + (f"; failed tries: {_reasons(Counter(use.failures))}" if use.failures else "")
            for use in self.use
        ]
        return ["", *lines] if lines else []


def _reasons(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common()) or "–"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else line[:160] + "…"
