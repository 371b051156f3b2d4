"""The overlap of sets as a table for people, and the promises a split can be held to."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from data_synthesis.overlap.compare import MEASURES, NGRAM, Overlap, SampleSet, compare
from data_synthesis.overlap.samples import read_samples
from environment.core.errors import ConfigError, DataError, nearest_name
from environment.core.schema import ToolSchema


def overlaps(
    first: Path,
    second: Path,
    against: Sequence[Path] = (),
    schemas: Mapping[str, ToolSchema] | None = None,
    ngram: int = NGRAM,
) -> list[Overlap]:
    """Return the overlap of two sets, then of each of them with every benchmark file of `against`.

    Raises:
        DataError: a file can't be read, or holds no samples.
    """
    one, two = (sample_set(path, schemas, ngram) for path in (first, second))
    found = [compare(one, two)]
    for path in against:
        benchmark = sample_set(path, schemas, ngram)
        found += [compare(one, benchmark), compare(two, benchmark)]
    return found


def sample_set(path: Path, schemas: Mapping[str, ToolSchema] | None = None, ngram: int = NGRAM) -> SampleSet:
    """Return a file as a set; DataError where it holds none."""
    if ngram < 1:
        raise ConfigError("a run of words has at least one", where="--ngram", got=ngram)
    made = SampleSet(path.name, read_samples(path, schemas), ngram)
    if not made.samples:
        raise DataError("the file holds no samples", where=str(path))
    return made


def table(overlap: Overlap) -> str:
    """Return one overlap as lines for a terminal or a Markdown file."""
    head = f"{overlap.first} ({overlap.rows_first} rows) and {overlap.second} ({overlap.rows_second} rows)"
    rows = [
        f"| {m.measure} | {m.first} | {m.second} | {m.shared} | {m.samples} of {m.of} | {m.share:.1%} |"
        for m in overlap.measures
    ]
    columns = "| measure | in the first | in the second | in both | rows of the second | share |"
    return "\n".join([head, "", columns, "|---|---|---|---|---|---|", *rows, *_examples(overlap)])


def broken(overlap: Overlap, forbidden: Iterable[str]) -> list[str]:
    """Return a sentence for each measure that must share nothing and does.

    Raises:
        ConfigError: a measure is unknown.
    """
    found: list[str] = []
    for name in forbidden:
        if name not in MEASURES:
            near = nearest_name(name, MEASURES)
            raise ConfigError(
                "no such measure", where="--forbid", got=name, expected=", ".join(MEASURES), nearest=near
            )
        measure = overlap.measure(name)
        if measure.samples:
            example = measure.examples[0]
            told = f"{example.what!r} in {example.first} and {example.second}"
            found.append(f"{overlap.first} and {overlap.second} share {measure.shared} by {name}: {told}")
    return found


def _examples(overlap: Overlap) -> list[str]:
    lines = [
        f"  {m.measure}: {_short(e.what)} – {e.first}, {e.second}"
        for m in overlap.measures
        if m.measure != "pattern"
        for e in m.examples[:2]
    ]
    return ["", *lines] if lines else []


def _short(text: str) -> str:
    return text if len(text) <= 90 else text[:90] + "…"
