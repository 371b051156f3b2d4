"""Which call of a trajectory answers which step of the gold chain, and what is left over.

    calls  ──one-to-one──▶  gold steps      most credit in total; calls of another tool never fit a step
      │                        │
      │                        └─ per step: name, arguments one by one, edges (value seen before? producer before?)
      └─ left over: surplus (executed well, wanted by no step), failed, repeated, excused (the world timed out)

Each step is credited once, with its best attempt, so trying again costs little and repeating earns nothing. An attempt
that was not carried out stands behind any that was. Among equally good attempts the one whose consumed values had been
seen wins, then the one that was answered, then the earliest; an attempt that came too early gives way to an equal one
that came after its producers.

A step is *correct* when its arguments equal the gold ones in canonical form and the call was carried out; a trajectory
is a *success* when every step is correct, every producer was called in an earlier turn, the episode ended with an
answer and no surplus call was executed. Failed tries don't spoil success. Rewards and the evaluation both read this.
"""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from BFCL.check.answer import Closing
from BFCL.check.assignment import best_assignment
from BFCL.check.credit import ArgumentCredit, argument_credits, mean_credit
from BFCL.check.flow import Observations, value_at
from environment.core.calls import JsonValue, ParseStatus, ResultStatus, ToolCall
from environment.core.canonical import canonical_arguments, json_key
from environment.core.schema import ToolSchema
from environment.core.task import GoldStep, Task
from environment.core.trajectory import StopReason, Trajectory

_FLOW_BONUS, _ANSWERED_BONUS, _LATE_COST = 1e-3, 1e-5, 1e-9
_NOT_EXECUTED_WEIGHT = 1e-2


@dataclass(frozen=True, slots=True)
class EdgeCheck:
    """One dependency of a matched step."""

    producer: int
    argument: str
    """Path of the consuming argument; empty where only the order is known."""
    observed: bool
    """The consumed value stood in an earlier result; where only the order is known, the same as `ordered`."""
    ordered: bool
    """The producer step was matched by a call of an earlier turn."""


@dataclass(frozen=True, slots=True)
class StepMatch:
    """What became of one gold step."""

    step: int
    call: int | None
    """Position in `trajectory.calls`; None when no call fits."""
    executed: bool = False
    """The call was carried out, whatever the answer."""
    exact: bool = False
    """All arguments equal the gold ones in canonical form."""
    arguments: tuple[ArgumentCredit, ...] = ()
    edges: tuple[EdgeCheck, ...] = ()

    @property
    def correct(self) -> bool:
        """The right call, carried out; says nothing of order."""
        return self.exact and self.executed

    @property
    def ordered(self) -> bool:
        """Every producer of this step was called in an earlier turn."""
        return all(e.ordered for e in self.edges)


@dataclass(frozen=True, slots=True)
class Match:
    """A trajectory laid beside a gold chain."""

    steps: tuple[StepMatch, ...]
    calls: int
    """Calls made, unreadable ones included."""
    readable: int
    """Calls that could be read."""
    surplus: tuple[int, ...]
    """Calls that no step wanted and that were answered."""
    failed: tuple[int, ...]
    """Calls that no step wanted and that were unreadable, refused, missed or not carried out."""
    repeated: tuple[int, ...]
    """Those of surplus and failed that say the same as an earlier call."""
    answered: bool
    """The episode ended with an answer."""
    told: float = 1.0
    """Share of the found values the task's own answer names that this answer names, too; 1 where it names none."""

    correct_calls: int = field(init=False)
    """Gold steps with the right call."""
    correct_prefix: int = field(init=False)
    """Gold steps right and in order, counted from the first up to the first that is not."""

    def __post_init__(self) -> None:
        wrong = (i for i, step in enumerate(self.steps) if not (step.correct and step.ordered))
        object.__setattr__(self, "correct_calls", sum(step.correct for step in self.steps))
        object.__setattr__(self, "correct_prefix", next(wrong, len(self.steps)))

    @property
    def turn_accuracy(self) -> float:
        """Share of the chain that was done before the first mistake."""
        return self.correct_prefix / len(self.steps) if self.steps else float(not self.surplus)

    @property
    def call_accuracy(self) -> float:
        """Right calls per gold step or per call made, whichever are more."""
        most = max(len(self.steps), self.calls)
        return self.correct_calls / most if most else 1.0

    @property
    def success(self) -> bool:
        """Everything was done, in order, without executed extras, and the episode ended with an answer."""
        return self.answered and not self.surplus and self.correct_prefix == len(self.steps)


def match(trajectory: Trajectory, task: Task, schemas: Mapping[str, ToolSchema]) -> Match:
    """Lay one trajectory beside its task."""
    return chain_of(task, schemas).match(trajectory)


_KEPT: dict[tuple[int, int], GoldChain] = {}
_MOST_KEPT = 256


def chain_of(task: Task, schemas: Mapping[str, ToolSchema]) -> GoldChain:
    """Return the chain of a task, the one made before where the same task object was asked for lately."""
    key = id(task), id(schemas)
    kept = _KEPT.get(key)
    if kept is None or kept.task is not task or kept.schemas is not schemas:
        if len(_KEPT) >= _MOST_KEPT:
            _KEPT.clear()
        kept = _KEPT[key] = GoldChain(task, schemas)
    return kept


class GoldChain:
    """The gold steps of one task, made ready for comparison."""

    def __init__(self, task: Task, schemas: Mapping[str, ToolSchema]) -> None:
        self.task = task
        self.schemas = schemas
        self._steps = tuple(_Gold.of(step, self._schema(step.function)) for step in task.steps)
        by_tool: defaultdict[str, list[int]] = defaultdict(list)
        for index, gold in enumerate(self._steps):
            by_tool[gold.step.function].append(index)
        self._by_tool = dict(by_tool)
        self.closing = Closing(task.answer)
        """What the task's own answer says."""
        self.twins = tuple(_twins(self._steps, by_tool))
        """Groups of steps that ask for the very same call."""

    def match(self, trajectory: Trajectory) -> Match:
        """Lay a trajectory beside the chain; total, for any trajectory."""
        work = _Work(trajectory, self)
        chosen = work.assign()
        work.respect_order(chosen)
        return work.result(chosen)

    def _schema(self, name: str) -> ToolSchema:
        return self.schemas.get(name) or ToolSchema(name, "", {})

    def canonical(self, call: ToolCall) -> dict[str, JsonValue]:
        """Return the arguments of a call in the normal form of its tool; a gold call's own where written alike."""
        for index in self._by_tool.get(call.name, ()):
            gold = self._steps[index]
            for written, letters, normal in zip(gold.written, gold.letters, gold.variants, strict=True):
                if len(written) == len(call.arguments) and _alike(written, letters, call.arguments):
                    return normal
        return canonical_arguments(self._schema(call.name), call.arguments)

    @property
    def steps(self) -> tuple[_Gold, ...]:
        """The prepared steps, in order."""
        return self._steps

    def steps_of(self, tool: str) -> Sequence[int]:
        """Return the indices of the steps that want `tool`."""
        return self._by_tool.get(tool, ())


@dataclass(frozen=True, slots=True)
class _Gold:
    """One gold step with what comparison needs."""

    step: GoldStep
    arguments: dict[str, JsonValue]
    variants: tuple[dict[str, JsonValue], ...]
    """Every argument set that is right, `arguments` first."""
    written: tuple[dict[str, JsonValue], ...]
    """The same as the task has them."""
    letters: tuple[str, ...]
    """The same as texts: 1, 1.0 and true are three values."""
    full: tuple[tuple[ArgumentCredit, ...], ...]
    """What a call earns that is written just so, one for each set."""
    derived: frozenset[str]
    needs: tuple[tuple[int, str], ...]
    """(producer, argument path) of each edge, then (producer, "") of each dependency without an edge."""

    @classmethod
    def of(cls, step: GoldStep, schema: ToolSchema) -> _Gold:
        needs = [(e.producer, e.argument) for e in step.edges]
        known = {producer for producer, _ in needs}
        needs += [(d, "") for d in step.depends_on if d not in known]
        derived = frozenset(e.argument.partition(".")[0].partition("[")[0] for e in step.edges)
        variants = tuple(canonical_arguments(schema, a) for a in (step.arguments, *step.accepted))
        full = tuple(argument_credits(v, v, derived) for v in variants)
        written = (step.arguments, *step.accepted)
        letters = tuple(repr(arguments) for arguments in written)
        return cls(step, variants[0], variants, written, letters, full, derived, tuple(needs))


def _alike(written: Mapping[str, JsonValue], letters: str, given: Mapping[str, JsonValue]) -> bool:
    """Say whether a call has an argument set to the letter."""
    try:
        return written == given and letters == repr(given)
    except RecursionError:
        return False


def _twins(steps: Sequence[_Gold], by_tool: Mapping[str, list[int]]) -> Iterable[list[int]]:
    groups: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for indices in by_tool.values():
        for index in indices if len(indices) > 1 else ():
            groups[steps[index].step.function, json_key(steps[index].arguments)].append(index)
    return [group for group in groups.values() if len(group) > 1]


class _Work:
    """One comparison in progress: canonical calls, their statuses, what had been seen when."""

    def __init__(self, trajectory: Trajectory, chain: GoldChain) -> None:
        self.chain = chain
        self.trajectory = trajectory
        self.calls = trajectory.calls
        answers = {r.call_id: r.status for r in trajectory.results}
        self.status = [answers.get(c.id, ResultStatus.NOT_EXECUTED) for c in self.calls]
        self.canonical = [chain.canonical(c) if c.status == ParseStatus.OK else {} for c in self.calls]
        self.seen = Observations(trajectory)
        self._credits: dict[tuple[int, int], tuple[ArgumentCredit, ...]] = {}
        self._flows: dict[tuple[int, str, int], bool] = {}
        self._keys: dict[int, str] = {}

    def assign(self) -> list[int | None]:
        """Return the call of each step, the order of plain dependencies not yet considered."""
        chosen: list[int | None] = [None] * len(self.chain.steps)
        by_tool: defaultdict[str, list[int]] = defaultdict(list)
        for position, call in enumerate(self.calls):
            if call.status == ParseStatus.OK and self.chain.steps_of(call.name):
                by_tool[call.name].append(position)
        for tool, positions in by_tool.items():
            steps = self.chain.steps_of(tool)
            if len(steps) == len(positions) == 1:
                chosen[steps[0]] = positions[0]
                continue
            if len(steps) == 1:
                chosen[steps[0]] = max(positions, key=lambda p, s=steps[0]: self._weight(s, p))
                continue
            found = best_assignment([[self._weight(s, p) for p in positions] for s in steps])
            for step, column in zip(steps, found, strict=True):
                chosen[step] = None if column is None else positions[column]
        for twins in self.chain.twins:
            self._untwist(chosen, twins)
        return chosen

    def respect_order(self, chosen: list[int | None]) -> None:
        """Move a step to an equal, unused, later call where its producers came too late for the chosen one."""
        for step, gold in enumerate(self.chain.steps):
            position = chosen[step]
            if position is None or not gold.needs or self._ordered(gold, chosen, self.calls[position].turn):
                continue
            later = (p for p in range(position + 1, len(self.calls)) if p not in chosen)
            fitting = (p for p in later if self._ordered(gold, chosen, self.calls[p].turn) and self._same(position, p))
            chosen[step] = next(fitting, position)

    def result(self, chosen: list[int | None]) -> Match:
        """Build the match."""
        taken = {p for p in chosen if p is not None}
        left = [p for p in range(len(self.calls)) if p not in taken]
        excused = [p for p in left if self.status[p] == ResultStatus.TIMEOUT]
        surplus = tuple(p for p in left if self._readable(p) and self.status[p] == ResultStatus.OK)
        failed = tuple(sorted({*left}.difference(surplus, excused)))
        return Match(
            steps=tuple(self._step(i, p, chosen) for i, p in enumerate(chosen)),
            calls=len(self.calls),
            readable=sum(c.status == ParseStatus.OK for c in self.calls),
            surplus=surplus,
            failed=failed,
            repeated=self._repeated((*surplus, *failed), excused) if left else (),
            answered=self.trajectory.stop == StopReason.ANSWER,
            told=self.chain.closing.told(self.trajectory.answer, self.seen.shows),
        )

    def _weight(self, step: int, position: int) -> float:
        if self.status[position] == ResultStatus.NOT_EXECUTED:
            return _NOT_EXECUTED_WEIGHT - _LATE_COST * min(position, 1000)
        credits = self._credit(step, position)
        fit = 1.0 + mean_credit(credits)
        flows = [self._observed(step, path, position) for _, path in self.chain.steps[step].needs if path]
        fit += _FLOW_BONUS * sum(flows) / len(flows) if flows else 0.0
        return fit + _ANSWERED_BONUS * (self.status[position] == ResultStatus.OK) - _LATE_COST * min(position, 1000)

    def _credit(self, step: int, position: int) -> tuple[ArgumentCredit, ...]:
        if (step, position) not in self._credits:
            self._credits[step, position] = self._best_credit(self.chain.steps[step], self.canonical[position])
        return self._credits[step, position]

    def _best_credit(self, gold: _Gold, given: Mapping[str, JsonValue]) -> tuple[ArgumentCredit, ...]:
        """Return the credits against the argument set that the call has most of."""
        for variant, full in zip(gold.variants, gold.full, strict=True):
            if given is variant:
                return full
        best = argument_credits(gold.arguments, given, gold.derived)
        for variant in gold.variants[1:]:
            best = max(best, argument_credits(variant, given, gold.derived), key=mean_credit)
        return best

    def _untwist(self, chosen: list[int | None], twins: Sequence[int]) -> None:
        """Give the calls of steps that ask for the very same to those steps in order of time."""
        matched = [step for step in twins if chosen[step] is not None]
        for step, position in zip(matched, sorted(p for s in matched if (p := chosen[s]) is not None), strict=True):
            chosen[step] = position

    def _step(self, index: int, position: int | None, chosen: Sequence[int | None]) -> StepMatch:
        if position is None:
            return StepMatch(index, None)
        credits = self._credit(index, position)
        return StepMatch(
            step=index,
            call=position,
            executed=self.status[position] != ResultStatus.NOT_EXECUTED,
            exact=all(c.value == 1.0 for c in credits),
            arguments=credits,
            edges=tuple(self._edge(index, p, a, position, chosen) for p, a in self.chain.steps[index].needs),
        )

    def _edge(
        self, index: int, producer: int, argument: str, position: int, chosen: Sequence[int | None]
    ) -> EdgeCheck:
        ordered = self._before(producer, chosen, self.calls[position].turn)
        observed = self._observed(index, argument, position) if argument else ordered
        return EdgeCheck(producer, argument, observed, ordered)

    def _observed(self, step: int, path: str, position: int) -> bool:
        """Say whether the value this call consumes at `path` was seen before, as written or in its normal form."""
        if (step, path, position) not in self._flows:
            self._flows[step, path, position] = self._look_for(self.chain.steps[step], path, position)
        return self._flows[step, path, position]

    def _look_for(self, gold: _Gold, path: str, position: int) -> bool:
        call = self.calls[position]
        if self.seen.before(value_at(call.arguments, path), call.turn):
            return True
        normal = value_at(self.canonical[position], path)
        if normal is None or self.seen.before(normal, call.turn):
            return normal is not None
        sets = zip(gold.variants, gold.written, strict=True)
        written = (value_at(raw, path) for variant, raw in sets if normal == value_at(variant, path))
        return any(self.seen.before(value, call.turn) for value in written)

    def _ordered(self, gold: _Gold, chosen: Sequence[int | None], turn: int) -> bool:
        return all(self._before(producer, chosen, turn) for producer, _ in gold.needs)

    def _before(self, producer: int, chosen: Sequence[int | None], turn: int) -> bool:
        position = chosen[producer] if 0 <= producer < len(chosen) else None
        return position is not None and self.calls[position].turn < turn

    def _same(self, one: int, other: int) -> bool:
        return self.calls[one].name == self.calls[other].name and self._key(one) == self._key(other)

    def _key(self, position: int) -> str:
        if position not in self._keys:
            call, readable = self.calls[position], self._readable(position)
            self._keys[position] = f"{call.name} {json_key(self.canonical[position]) if readable else call.raw}"
        return self._keys[position]

    def _readable(self, position: int) -> bool:
        return self.calls[position].status == ParseStatus.OK

    def _repeated(self, left: Iterable[int], excused: Iterable[int]) -> tuple[int, ...]:
        first: dict[str, int] = {}
        forgiven = set(excused)
        for position in range(len(self.calls)):
            if position not in forgiven:
                first.setdefault(self._key(position), position)
        return tuple(p for p in sorted(left) if first[self._key(p)] < p)
