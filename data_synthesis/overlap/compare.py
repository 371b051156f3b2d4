"""Comparing two sets, measure by measure: what is in both, how many samples it touches, and which.

    pattern   the same tools in the same order
    call      the same tool with arguments that mean the same
    entity    the same name in the request and in a call
    ngram     the same run of N words (13 by default, as is usual for contamination)
    near      a request whose word triples overlap by 85 %
"""
from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from data_synthesis.duplicates import NearDuplicates
from data_synthesis.overlap.samples import Sample
from environment.core.canonical import fold_text

MEASURES = ("pattern", "call", "entity", "ngram", "near")
"""Names of the measures."""
NGRAM = 13
SIMILARITY = 0.85
_EXAMPLES = 5


@dataclass(frozen=True)
class Example:
    """One thing that is in both sets."""

    what: str
    first: str
    """Id of a sample of the first set that has it."""
    second: str


@dataclass(frozen=True)
class Shared:
    """What two sets share by one measure."""

    measure: str
    first: int
    """Different things in the first set."""
    second: int
    shared: int
    samples: int
    """Samples of the second set that have one of the shared things."""
    of: int
    """Samples of the second set."""
    examples: tuple[Example, ...]

    @property
    def share(self) -> float:
        """Share of the second set's samples that are touched; 0 for an empty set."""
        return self.samples / self.of if self.of else 0.0


@dataclass(frozen=True)
class Overlap:
    """What two sets have in common."""

    first: str
    second: str
    rows_first: int
    rows_second: int
    measures: tuple[Shared, ...]

    def measure(self, name: str) -> Shared:
        """Return one measure."""
        return next(m for m in self.measures if m.measure == name)

    def to_json(self) -> dict[str, Any]:
        """Return a plain JSON object."""
        return {**asdict(self), "measures": {m.measure: {**asdict(m), "share": m.share} for m in self.measures}}


class SampleSet:
    """One set, indexed for comparison; texts are kept as hashes."""

    def __init__(self, name: str, samples: Iterable[Sample], ngram: int = NGRAM) -> None:
        self.name = name
        self.ngram = ngram
        self.samples: list[tuple[str, str]] = []
        """(id, query) in order."""
        self.things: dict[str, dict[Any, str]] = {m: {} for m in MEASURES[:-1]}
        """Measure → thing → id of the first sample that has it."""
        self._by_sample: list[dict[str, frozenset[Any]]] = []
        self._near = NearDuplicates(SIMILARITY)
        self._near_ids: list[str] = []
        for sample in samples:
            self._add(sample)

    def _add(self, sample: Sample) -> None:
        self.samples.append((sample.id, sample.query))
        held: dict[str, frozenset[Any]] = {
            "pattern": frozenset([sample.pattern] if sample.pattern else []),
            "call": sample.calls,
            "entity": sample.entities,
            "ngram": frozenset(ngrams(sample.query, self.ngram)),
        }
        self._by_sample.append(held)
        for measure, things in held.items():
            for thing in things:
                self.things[measure].setdefault(thing, sample.id)
        if sample.query and self._near.add(sample.query):
            self._near_ids.append(sample.id)

    def like(self, query: str) -> str | None:
        """Return the id of a sample whose request is much like this one."""
        found = self._near.like(query) if query else None
        return None if found is None else self._near_ids[found]

    def has_ngram(self, query: str) -> str | None:
        """Return the id of a sample that shares a run of words with this request."""
        known = self.things["ngram"]
        return next((known[n] for n in ngrams(query, self.ngram) if n in known), None)

    def held(self, measure: str) -> Iterator[tuple[str, frozenset[Any]]]:
        """Yield (id, things) for every sample."""
        return ((name, held[measure]) for (name, _), held in zip(self.samples, self._by_sample, strict=True))


def ngrams(text: str, size: int) -> Iterator[int]:
    """Yield hashes of the runs of `size` words; none where the text is shorter."""
    words = "".join(c if c.isalnum() else " " for c in fold_text(text)).split()
    for at in range(len(words) - size + 1):
        run = " ".join(words[at : at + size])
        yield int.from_bytes(hashlib.blake2b(run.encode(), digest_size=8).digest())


def compare(first: SampleSet, second: SampleSet) -> Overlap:
    """Return what the second set has of the first."""
    words = f"{second.ngram} words in a row"
    shown: dict[str, Callable[[Any], str]] = {"pattern": " → ".join, "ngram": lambda _: words}
    found = [_by_thing(first, second, m, shown.get(m, str)) for m in MEASURES[:-1]]
    return Overlap(first.name, second.name, len(first.samples), len(second.samples), (*found, _near(first, second)))


def _by_thing(first: SampleSet, second: SampleSet, measure: str, show: Callable[[Any], str]) -> Shared:
    known, other = first.things[measure], second.things[measure]
    shared = known.keys() & other.keys()
    touched = sum(not shared.isdisjoint(things) for _, things in second.held(measure))
    examples = (Example(show(t), known[t], other[t]) for t in sorted(shared, key=str)[:_EXAMPLES])
    return Shared(measure, len(known), len(other), len(shared), touched, len(second.samples), tuple(examples))


def _near(first: SampleSet, second: SampleSet) -> Shared:
    pairs = ((query, first.like(query), name) for name, query in second.samples)
    found = [Example(query[:120], like, name) for query, like, name in pairs if like is not None]
    like = len({example.first for example in found})
    size = len(second.samples)
    return Shared("near", len(first.samples), size, like, len(found), size, tuple(found[:_EXAMPLES]))
