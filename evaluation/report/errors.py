"""The error taxonomy: in how many episodes each kind of mistake was made, and which arguments were wrong how often.

Counted from the stored trajectories laid beside the gold chains, greedy and sampled episodes alike. An episode may have
several kinds; infrastructure failures are counted and are in no share.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from environment.core.schema import ToolSchema
from environment.core.task import Task
from environment.core.trajectory import Trajectory
from evaluation.mistakes import Kind, Mistake, mistakes
from evaluation.report.figures import DASH, MODEL_LOOK, Look, count, share
from evaluation.report.markup import Markup, el
from evaluation.report.tables import bar, count_bar, dotted, table

WORDS = {
    Kind.WRONG_TOOL: "wrong tool",
    Kind.WRONG_VALUE: "wrong value",
    Kind.MISSING_STEP: "missing step",
    Kind.EXTRA_CALL: "extra call",
    Kind.REFUSED_CALL: "extra call, refused",
    Kind.ORDER: "wrong order",
    Kind.MALFORMED: "malformed call",
    Kind.NOT_EXECUTED: "call not carried out",
    Kind.GAVE_UP: "gave up: answered before the chain was done",
    Kind.CUT_OFF: "cut off by a limit",
    Kind.INFRASTRUCTURE: "infrastructure",
}
MOST_ARGUMENTS = 12
HOW = {"differs": "differ", "left out": "left out", "made up": "made up"}
"""How values are wrong, and the same after a number."""


@dataclass
class Tally:
    """Mistakes of one evaluation."""

    episodes: int = 0
    """Those that count; the ones the infrastructure failed are `kinds[INFRASTRUCTURE]`."""
    kinds: Counter[Kind] = field(default_factory=Counter[Kind])
    """Episodes with at least one mistake of a kind."""
    arguments: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    """Wrong values by (tool, argument, how)."""

    def add(self, found: Iterable[Mistake]) -> None:
        """Count one episode."""
        listed = list(found)
        kinds = {mistake.kind for mistake in listed}
        self.kinds.update(kinds)
        self.episodes += Kind.INFRASTRUCTURE not in kinds
        self.arguments.update((m.tool, m.argument, m.how) for m in listed if m.kind == Kind.WRONG_VALUE)


def tally(
    trajectories: Iterable[Trajectory], tasks: Mapping[str, Task], schemas: Mapping[str, ToolSchema]
) -> Tally | None:
    """Return the mistakes of all trajectories whose task is known, None where there are none."""
    found = Tally()
    for trajectory in trajectories:
        task = tasks.get(trajectory.task_id)
        if task is not None:
            found.add(mistakes(trajectory, task, schemas))
    return found if found.episodes or found.kinds else None


def taxonomy(tallies: Mapping[str, Tally], look: Look = MODEL_LOOK) -> Markup | None:
    """Return kinds of mistakes as bars, a column an evaluation."""
    kinds = [kind for kind in WORDS if any(t.kinds[kind] for t in tallies.values())]
    if not tallies:
        return None
    rows = [[WORDS[kind], *(_kind_cell(kind, t, look.colour(n)) for n, t in tallies.items())] for kind in kinds]
    rows.append([el("i", "episodes"), *(el("span", count(t.episodes), class_="sum") for t in tallies.values())])
    return table(["Kind", *(dotted(n, look) for n in tallies)], rows, "Kinds of mistakes", "breakdown")


def wrong_values(tallies: Mapping[str, Tally], look: Look = MODEL_LOOK) -> Markup | None:
    """Return the arguments most often wrong, and how; None where no value was wrong."""
    total: Counter[tuple[str, str]] = Counter()
    for each in tallies.values():
        total += _by_argument(each)
    most = max((times for t in tallies.values() for times in _by_argument(t).values()), default=0)
    rows = [
        [[el("code", argument), " ", el("small", tool)], *(_argument_cell(t, tool, argument, most, look.colour(n))
                                                           for n, t in tallies.items())]
        for tool, argument in sorted(total, key=lambda key: (-total[key], key))[:MOST_ARGUMENTS]
    ]  # fmt: skip
    if not rows:
        return None
    return table(["Argument", *(dotted(n, look) for n in tallies)], rows, "Wrong values by argument", "breakdown")


def _kind_cell(kind: Kind, found: Tally, colour: str) -> object:
    times = found.kinds[kind]
    if not times or not found.episodes or kind == Kind.INFRASTRUCTURE:
        return el("span", count(times) if times else DASH, class_="sum")
    return bar(colour, times / found.episodes, share(times / found.episodes))


def _argument_cell(found: Tally, tool: str, argument: str, most: int, colour: str) -> object:
    by_how = {how: found.arguments[tool, argument, how] for how in HOW}
    times = sum(by_how.values())
    if not times:
        return el("span", DASH, class_="sum")
    words = ", ".join(f"{n} {HOW[how]}" for how, n in by_how.items() if n)
    return [count_bar(colour, times, most), el("small", words, class_="under")]


def _by_argument(found: Tally) -> Counter[tuple[str, str]]:
    merged: Counter[tuple[str, str]] = Counter()
    for (tool, argument, _), times in found.arguments.items():
        merged[tool, argument] += times
    return merged
