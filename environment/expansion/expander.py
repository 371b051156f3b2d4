"""Walking chains: every usable answer of a step opens branches for the steps that take from it.

A branch keeps which earlier answers it came from, so a step with two producers joins only answers that share their
past. Which branches go on is decided by a hash of chain, step and call, not by the order of arrival: the same settings
and the same answers give the same calls, with any number of workers, and after a kill.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from environment.booking.draw import draw
from environment.core.calls import JsonValue, ResultStatus, WorldAnswer
from environment.core.canonical import canonical_key
from environment.core.ports import put, unwrapped, values_at
from environment.expansion.asking import Arguments, Asker
from environment.expansion.chains import Chain, ChainStep, Link, shifted
from environment.expansion.proposals import Proposer

_TRIES = 20
"""Random joins tried for each one wanted, where a step has several producers."""


@dataclass(frozen=True)
class ExpansionSizes:
    """How far chains spread."""

    first: int = 50
    """Argument sets of a step that takes nothing from others."""
    dependent: int = 10
    """Argument sets for each branch of a step that does."""
    branches: int = 60
    """Usable answers of a step that go on."""


@dataclass(frozen=True)
class Branch:
    """A usable answer and the earlier ones it came from."""

    value: JsonValue
    past: Mapping[int, Branch] = field(default_factory=dict[int, "Branch"])
    """Step → answer, all ancestors."""
    number: int = 0
    """Of the argument set it answers; look-ups of one number are about one place."""


@dataclass(frozen=True)
class Call:
    """One call of a step."""

    arguments: Arguments
    past: Mapping[int, Branch]
    """The earlier answers it takes from."""
    number: int


@dataclass(frozen=True)
class ChainResult:
    """What came of one chain."""

    id: str
    chains: int
    """Complete chains: the fewest usable answers among the steps that end it."""
    answers: tuple[int, ...]
    """Usable answers of each step."""
    calls: tuple[int, ...]
    """Calls of each step, recorded ones included."""
    ended: str | None = None
    """Where and why it broke off; None where every step has answers."""


class Expander:
    """Walks chains with one asker."""

    def __init__(self, asker: Asker, proposer: Proposer, sizes: ExpansionSizes, seed: int = 0) -> None:
        self._asker, self._proposer, self._sizes, self._seed = asker, proposer, sizes, seed

    def walk(self, chain: Chain, say: Callable[[str], None] = lambda _: None) -> ChainResult:
        """Ask for every step of a chain in turn; a step without usable answers ends it."""
        branches: dict[int, list[Branch]] = {}
        calls: list[int] = []
        for number, step in enumerate(chain.steps):
            asked = list(self.calls_of(chain, number, branches))
            answers = self._asker.ask_all(step.tool, [call.arguments for call in asked])
            calls.append(len(asked))
            branches[number] = self.usable(chain, number, asked, answers)
            say(f"{chain.id} step {number} {step.tool}: {len(asked)} calls, {len(branches[number])} go on")
            if not branches[number]:
                break
        return self._result(chain, branches, calls)

    def _result(self, chain: Chain, branches: Mapping[int, list[Branch]], calls: Sequence[int]) -> ChainResult:
        counts = tuple(len(branches.get(number, ())) for number in range(len(chain.steps)))
        ended = None
        if 0 in counts:
            number = counts.index(0)
            ended = f"step {number} {chain.steps[number].tool}: {self._asker.stopped or 'no usable answer'}"
        complete = min(counts[end] for end in chain.ends) if ended is None else 0
        return ChainResult(chain.id, complete, counts, tuple(calls), ended)

    def calls_of(self, chain: Chain, number: int, branches: Mapping[int, list[Branch]]) -> Iterator[Call]:
        """Yield the calls of a step, each once."""
        step, seen = chain.steps[number], set[str]()
        schema = self._asker.schemas[step.tool]
        for call in self._filled(chain, number, branches):
            key = canonical_key(schema, call.arguments)
            if key not in seen:
                seen.add(key)
                yield call

    def _filled(self, chain: Chain, number: int, branches: Mapping[int, list[Branch]]) -> Iterator[Call]:
        step = chain.steps[number]
        if not step.producers:
            turn = sum(before.tool == step.tool for before in chain.steps[:number])
            yield from self._sets(step, {}, self._sizes.first, chain.id, turn)
            return
        for place, past in enumerate(self._pasts(chain, number, branches)):
            yield from self._sets(step, past, self._sizes.dependent, f"{chain.id} {number} {place}", 0)

    def _sets(self, step: ChainStep, past: Mapping[int, Branch], count: int, about: str, turn: int) -> Iterator[Call]:
        """Yield argument sets: values that a person states, over them constants and what earlier answers give."""
        schema = self._asker.schemas[step.tool]
        links = [link for link in step.links if not link.optional or _given(link, past, 0) is not None]
        linked = [*(link.argument for link in links), *step.constants]
        for number, stated in enumerate(self._proposer.fill(schema, linked, step.named, count, about, turn)):
            arguments = stated | dict(step.constants)
            given = {link.argument: _given(link, past, number) for link in links}
            if all(value is not None for value in given.values()):
                for path, value in given.items():
                    put(arguments, path, value)
                yield Call(arguments, past, number)

    def _pasts(
        self, chain: Chain, number: int, branches: Mapping[int, list[Branch]]
    ) -> list[Mapping[int, Branch]]:
        """Return the joins of a step's producers that share their past, at most `branches`.

        Answers about one place are joined first: a taxi drives from the airport of a city to its centre.
        """
        producers = chain.steps[number].producers
        if len(producers) == 1:
            only = producers[0]
            return [{**branch.past, only: branch} for branch in branches[only]]
        found: dict[tuple[int, ...], Mapping[int, Branch]] = {}
        for chosen in self._choices((self._seed, chain.id, number), [branches[p] for p in producers]):
            joined = _joined({p: branches[p][i] for p, i in zip(producers, chosen, strict=True)})
            if joined is not None:
                found.setdefault(chosen, joined)
            if len(found) == self._sizes.branches:
                break
        return list(found.values())

    def _choices(self, words: tuple[object, ...], lists: Sequence[list[Branch]]) -> Iterator[tuple[int, ...]]:
        """Yield positions in some lists: equal numbers first, then at random."""
        places = [{branch.number: i for i, branch in enumerate(one)} for one in lists]
        for number in places[0]:
            if all(number in one for one in places):
                yield tuple(one[number] for one in places)
        for attempt in range(_TRIES * self._sizes.branches):
            yield tuple(draw(*words, attempt, n) % len(one) for n, one in enumerate(lists))

    def usable(
        self,
        chain: Chain,
        number: int,
        asked: Sequence[Call],
        answers: Sequence[WorldAnswer | None],
    ) -> list[Branch]:
        """Return the answers that later steps can take from, pruned to `branches`."""
        wanted, tool = chain.wanted(number), chain.steps[number].tool
        good: list[tuple[int, Branch]] = []
        for call, answer in zip(asked, answers, strict=True):
            if answer is None or answer.status is not ResultStatus.OK or unwrapped(answer.value) in ([], {}, None):
                continue
            if all(any(values_at(answer.value, path) for path in paths) for paths in wanted):
                key = canonical_key(self._asker.schemas[tool], call.arguments)
                rank = draw(self._seed, chain.id, number, key)
                good.append((rank, Branch(answer.value, call.past, call.number)))
        good.sort(key=lambda one: one[0])
        return [branch for _, branch in good[: self._sizes.branches]]


def _given(link: Link, past: Mapping[int, Branch], by: int) -> JsonValue:
    """Return the value of a link moved on by so many items, None where there is none; what is no list has one value."""
    for path in link.fields:
        moved = shifted(path, by)
        found = values_at(past[link.step].value, path if moved is None else moved)
        if found and found[0] is not None and not isinstance(found[0], dict | list):
            return found[0]
    return None


def _joined(chosen: Mapping[int, Branch]) -> Mapping[int, Branch] | None:
    """Return all ancestors of some branches; None where two of them came from different answers of one step."""
    out: dict[int, Branch] = {}
    for number, branch in chosen.items():
        for step, ancestor in {**branch.past, number: branch}.items():
            if out.setdefault(step, ancestor) is not ancestor:
                return None
    return out
