"""Find a text in stored trajectories: bytes against bytes, so that 100 000 of them are searched without being read.

Upper and lower case are alike for ASCII letters. A text is looked for as it is and as JSON writes it, for what a model
wrote stands inside strings, where quotes and other alphabets may be escaped. Names of fields are text, too.
"""
from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import groupby

from evaluation.viewer.index import Place

CHUNK = 16 << 20
"""Bytes looked through at a time."""


def matching(places: Sequence[Place], text: str) -> list[Place]:
    """Return the places whose lines contain a text, in the order given; places of one file stand together."""
    needles = spellings(text)
    found: list[Place] = []
    for _, group in groupby(places, key=lambda place: place.file.number):
        found += _in_file(list(group), needles)
    return found


def spellings(text: str) -> tuple[bytes, ...]:
    """Return the ways in which a text may stand in a line, in lower case."""
    plain = text.encode("utf-8", "surrogatepass")
    inside = [json.dumps(text, ensure_ascii=ascii)[1:-1].encode("utf-8", "surrogatepass") for ascii in (False, True)]
    return tuple(dict.fromkeys(each.lower() for each in (plain, *inside) if each))


def _in_file(places: Sequence[Place], needles: Sequence[bytes]) -> Iterator[Place]:
    """Yield the places of one file, in order of its lines, that hold any of the needles."""
    try:
        hits = set(_hits(places, needles))
    except OSError:
        return
    yield from (places[at] for at in sorted(hits))


def _hits(places: Sequence[Place], needles: Sequence[bytes]) -> Iterator[int]:
    """Yield the positions of places that hold a needle, some of them more than once."""
    starts = [place.row.offset for place in places]
    ends = [place.row.offset + place.row.length for place in places]
    overlap = max(map(len, needles)) - 1
    with places[0].file.path.open("rb") as file:
        for at in range(starts[0], ends[-1], CHUNK):
            file.seek(at)
            chunk = file.read(min(CHUNK + overlap, ends[-1] - at)).lower()
            for needle in needles:
                here = chunk.find(needle)
                while here >= 0:
                    place = bisect_right(starts, at + here) - 1
                    if place >= 0 and at + here + len(needle) <= ends[place]:
                        yield place
                    here = chunk.find(needle, max(here + 1, _next_start(starts, place) - at))


def _next_start(starts: Sequence[int], place: int) -> int:
    """Return where the place after this one begins: nothing before that is worth looking at."""
    return starts[place + 1] if place + 1 < len(starts) else starts[-1]
