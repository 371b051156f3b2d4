"""The text a model sees of a tool's answer: cut by structure, never by character, always valid JSON.

A value that fits its budget is shown whole. Otherwise, until it fits and no further than needed:

    1. items of lists are shortened to their ids, the last ones first, down to three whole items; then lists lose items
       from the end; then fewer than three are whole. `{"omitted": 3, "shortened": 2}` after the last item says so
    2. long strings are clipped
    3. fields go, the deepest first and of these the last first; `"omitted_fields": 5` says how many
    4. ids in lists within lists go, the deepest first; then the last of the three items; then the rest, from the end

Ids, tokens, slugs and names are neither clipped nor dropped before step 4, for later calls need them; only one that
would take more than half of the budget for itself has no such claim. They alone are what is left of a shortened item.
Counting tokens costs more than all else here, so the number of counts is kept near four a value: a guess by
characters per token comes first, and only its neighbourhood is counted.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

from environment.core.calls import JsonValue
from environment.core.per_object import PerObject
from environment.core.schema import ToolSchema
from environment.session.json_text import Path, compact, is_list, is_object, path_text, plain, scalars

TokenCounter = Callable[[str], int]
"""Number of tokens of a text, without special tokens."""

CHARS_PER_TOKEN = 4
"""Stands in for a tokenizer where none is given."""
HOPELESS_CHARS_PER_TOKEN = 12
"""A text longer than this for every token of its budget is not counted."""
HOPELESS_RATIO = 1.6
"""Nor is one longer than this times its budget by the characters per token seen so far in the same value."""
MAX_COUNTS = 5
"""Counts of one phase before a cut that fits is good enough."""
CLIP_CHARS = (400, 240, 160, 120, 80, 60, 40, 32)
"""Lengths to which strings are clipped, one after the other; the last leaves dates with their time whole."""
WHOLE = 3
"""Items of a list that are shown whole before others are shown at all."""
SHORTENED = 48
"""Items of a list that are shown by their ids alone, at most."""
_NOTHING = object()
KEEP = re.compile(
    r"(?:^|_)(?:ids?|token|slug|name)$|^(?:search_type|dest_type|value|key|error)$|[a-z](?:Ids?|Token|Slug|Name)$"
)
"""Keys whose values later calls are likely to need."""


class LeftOut(int):
    """How much was left out at a place of a cut value; not a value of the world."""


class Clipped(str):
    """A string whose end was cut off; not a value of the world."""

    __slots__ = ()


@dataclass(frozen=True)
class Observation:
    """What the model sees of a value."""

    text: str
    seen: JsonValue
    """The value behind `text`; `LeftOut` and `Clipped` mark what is not the world's."""
    tokens: int
    """Length of `text` in tokens; an estimate where no tokenizer was given."""

    @cached_property
    def values(self) -> tuple[tuple[str, JsonValue], ...]:
        """The scalars of the world that are seen, in document order, each with its path as text.

        Clipped strings, counts of what was left out and empty containers are none of them.
        """
        pairs = scalars(self.seen)
        return tuple((path_text(p), v) for p, v in pairs if not isinstance(v, Clipped | LeftOut | dict | list))


Cut = Callable[[JsonValue, Collection[str]], Observation]
"""Makes the observation of a value, sparing further keys."""


@dataclass(frozen=True)
class ObservationCut:
    """Cuts values to a budget of tokens, of characters, or both; None sets no bound."""

    limit_tokens: int | None = None
    limit_chars: int | None = None
    count: TokenCounter | None = None

    def __call__(self, value: JsonValue, keep: Collection[str] = ()) -> Observation:
        """Return the observation of a value.

        Args:
            value: any JSON value.
            keep: further keys to spare; `kept_keys` reads them off a tool.
        """
        budget = _Budget(self.limit_tokens, self.limit_chars, self.count)
        text = compact(value)
        if budget.fits(text):
            return Observation(text, value, budget.last)
        spare = _Spare(frozenset(keep), budget.chars / 2)
        for phase in _phases(plain(value), spare):
            found = _least_cut(phase, budget)
            if found is not None:
                return found
        return _nothing(budget)


def render_observation(
    value: JsonValue,
    *,
    limit_tokens: int | None = None,
    limit_chars: int | None = None,
    count: TokenCounter | None = None,
    keep: Collection[str] = (),
) -> str:
    """Return the text of a value under a budget; see `ObservationCut`."""
    return ObservationCut(limit_tokens, limit_chars, count)(value, keep).text


def kept_keys(schema: ToolSchema) -> frozenset[str]:
    """Return the keys of a tool's answers that other tools take: the ends of its `gives` paths."""
    return _ends_of(schema.gives)


def _ends(paths: Mapping[str, str]) -> frozenset[str]:
    return frozenset(path.rsplit(".", 1)[-1].replace("[]", "") for path in paths)


_ends_of = PerObject[Mapping[str, str], "frozenset[str]"](_ends)


@dataclass(frozen=True)
class _Phase:
    """A family of cuts: level 1 cuts least, level `levels` most."""

    levels: int
    build: Callable[[int], JsonValue]


@dataclass(frozen=True)
class _Spare:
    """Says which values are neither clipped nor dropped until nothing else is left."""

    keep: frozenset[str]
    longest: float
    """Characters above which a value is not spared."""

    def holds(self, key: str, value: JsonValue) -> bool:
        """Return whether the value under this key is spared."""
        if isinstance(value, Clipped) and key != "error":
            return False
        return (key in self.keep or KEEP.search(key) is not None) and len(str(value)) <= self.longest


class _Budget:
    """Judges texts; learns characters per token from each count."""

    def __init__(self, limit_tokens: int | None, limit_chars: int | None, count: TokenCounter | None) -> None:
        self._tokens = limit_tokens
        self._chars = limit_chars
        self._count = count
        self._ratio = float(CHARS_PER_TOKEN)
        self._hopeless = float(HOPELESS_CHARS_PER_TOKEN)
        self.last = 0
        """Tokens of the text judged last."""

    def fits(self, text: str) -> bool:
        """Return whether the text is within the budget, counting its tokens if need be."""
        if self._chars is not None and len(text) > self._chars:
            return False
        if self._tokens is not None and len(text) > self._tokens * self._hopeless:
            return False
        self.last = -(-len(text) // CHARS_PER_TOKEN) if self._count is None else self._count(text)
        self._ratio = len(text) / max(self.last, 1)
        self._hopeless = HOPELESS_RATIO * self._ratio
        return self._tokens is None or self.last <= self._tokens

    def seems_to_fit(self, text: str) -> bool:
        """Guess what `fits` would say, without counting."""
        return len(text) <= self.chars

    @property
    def chars(self) -> float:
        """The budget in characters, as far as known."""
        by_tokens = math.inf if self._tokens is None else self._tokens * self._ratio
        return by_tokens if self._chars is None else min(by_tokens, self._chars)


def _phases(value: JsonValue, spare: _Spare) -> Iterator[_Phase]:
    shapes = _shapes(_longest_list(value))
    yield _Phase(len(shapes), lambda level: _cap(value, shapes[level - 1], spare))
    few = _cap(value, (1, WHOLE), spare)
    yield _Phase(len(CLIP_CHARS), lambda level: _clip(few, CLIP_CHARS[level - 1], spare))
    clipped = _clip(few, CLIP_CHARS[-1], spare)
    optional = _optional_fields(clipped, spare)
    yield _Phase(len(optional), lambda level: _without(clipped, optional[:level]))
    spared = _bare(value, WHOLE, spare)
    nested = _nested_fields(spared)
    yield _Phase(len(nested), lambda level: _without(spared, nested[:level]))
    yield _Phase(WHOLE - 1, lambda level: _bare(value, WHOLE - level, spare))
    bare = _bare(value, 1, spare)
    rest = [path for path, leaf in scalars(bare) if not isinstance(leaf, LeftOut)][::-1]
    yield _Phase(len(rest), lambda level: _without(bare, rest[:level]))


def _shapes(longest: int) -> list[tuple[int, int]]:
    """Return how many items a list may have in all and how many of them whole, as (whole, all), the least cut first."""
    shapes = [(whole, min(longest, whole + SHORTENED)) for whole in range(longest - 1, WHOLE - 1, -1)]
    shapes += [(WHOLE, items) for items in range(min(longest, WHOLE + SHORTENED) - 1, WHOLE - 1, -1)]
    most = min(WHOLE, longest)
    return shapes + [(whole, most) for whole in range(most - 1, 0, -1)]


def _bare(value: JsonValue, items: int, spare: _Spare) -> JsonValue:
    """Return what is spared of a value whose lists are held to so many items."""
    left = _clip(_cap(value, (1, items), spare), CLIP_CHARS[-1], spare)
    return _without(left, _optional_fields(left, spare))


def _least_cut(phase: _Phase, budget: _Budget) -> Observation | None:
    """Return the observation at about the lowest level that fits, None where the highest does not.

    Each probe is a guess by characters between the bounds known so far, and each count makes the next guess better.
    """
    low, high, best = 0, phase.levels + 1, None
    for tries in range(2 * MAX_COUNTS):
        if low + 1 >= high or (best is not None and tries >= MAX_COUNTS):
            break
        probe = _guess(phase, budget, low + 1, high - 1) if tries < MAX_COUNTS else high - 1
        seen = phase.build(probe)
        text = compact(seen)
        if budget.fits(text):
            high, best = probe, Observation(text, seen, budget.last)
        else:
            low = probe
    return best


def _guess(phase: _Phase, budget: _Budget, low: int, high: int) -> int:
    """Return the lowest level of [low, high] that seems to fit, `high` where none does."""
    while low < high:
        middle = (low + high) // 2
        if budget.seems_to_fit(compact(phase.build(middle))):
            high = middle
        else:
            low = middle + 1
    return low


def _nothing(budget: _Budget) -> Observation:
    seen = {"omitted": LeftOut(1)}
    text = compact(seen)
    if budget.fits(text):
        return Observation(text, seen, budget.last)
    budget.fits("{}")
    return Observation("{}", {}, budget.last)


def _longest_list(value: JsonValue) -> int:
    longest, stack = 1, [value]
    while stack:
        node = stack.pop()
        if is_list(node):
            longest = max(longest, len(node))
        if is_object(node) or is_list(node):
            stack.extend(node.values() if is_object(node) else node)
    return longest


def _cap(value: JsonValue, shape: tuple[int, int], spare: _Spare, key: str = "") -> JsonValue:
    """Hold every list to a shape (whole, all): the first items stay whole, the next keep what is spared of them."""
    if is_object(value):
        return {name: _cap(child, shape, spare, name) for name, child in value.items()}
    if not is_list(value):
        return value
    whole, items = shape
    kept = [_cap(child, shape, spare, key) for child in value[:whole]]
    short = _cores(value[whole:items], spare, key)
    lost = {"omitted": len(value) - len(kept) - len(short),
            "shortened": sum(a != b for a, b in zip(short, value[whole:], strict=False))}  # fmt: skip
    mark = {name: LeftOut(count) for name, count in lost.items() if count}
    return [*kept, *short, mark] if mark else [*kept, *short]


def _cores(items: list[Any], spare: _Spare, key: str) -> list[Any]:
    """Return what is spared of each item, up to the first of which nothing is: every item keeps its place."""
    return list(takewhile(lambda core: core is not _NOTHING, (_core(item, spare, key) for item in items)))


def _core(value: JsonValue, spare: _Spare, key: str) -> Any:
    """Return what is spared of a value, `_NOTHING` where that is nothing."""
    if is_object(value):
        cores = {name: _core(child, spare, name) for name, child in value.items()}
        return {name: core for name, core in cores.items() if core is not _NOTHING} or _NOTHING
    if is_list(value):
        return _cores(value[:WHOLE], spare, key) or _NOTHING
    return value if value is not None and spare.holds(key, value) else _NOTHING


def _clip(value: JsonValue, chars: int, spare: _Spare, key: str = "") -> JsonValue:
    """Clip every string longer than `chars` that is not spared."""
    if is_object(value):
        return {name: _clip(child, chars, spare, name) for name, child in value.items()}
    if is_list(value):
        return [_clip(child, chars, spare, key) for child in value]
    if isinstance(value, str) and len(value) > chars and (key == "error" or not spare.holds(key, value)):
        return Clipped(value[: chars - 1] + "…")
    return value


def _optional_fields(value: JsonValue, spare: _Spare) -> list[Path]:
    """Return the paths of the fields that may go, in the order in which they go."""
    leaves = [(path, leaf) for path, leaf in scalars(value) if not isinstance(leaf, LeftOut)]
    paths = [path for path, leaf in leaves if not spare.holds(_last_key(path), leaf)]
    return sorted(reversed(paths), key=len, reverse=True)


def _nested_fields(value: JsonValue) -> list[Path]:
    """Return the paths of the fields in lists within lists, in the order in which they go."""
    leaves = [path for path, leaf in scalars(value) if not isinstance(leaf, LeftOut)]
    paths = [path for path in leaves if sum(isinstance(step, int) for step in path) > 1]
    return sorted(reversed(paths), key=len, reverse=True)


def _last_key(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _without(value: JsonValue, paths: list[Path]) -> JsonValue:
    """Return the value without the fields at `paths`, and with the number of all fields left out."""
    if not paths:
        return value
    left = _drop(value, frozenset(paths))
    before = left.get("omitted_fields", 0) if is_object(left) else 0
    note = {"omitted_fields": LeftOut(len(paths) + before)}
    if is_object(left):
        return {**left, **note}
    return [*left, note] if is_list(left) else note


def _drop(value: JsonValue, paths: frozenset[Path], at: Path = ()) -> JsonValue:
    """Return the value without `paths` and without the containers that this leaves empty."""
    if is_object(value):
        kept = {key: child for key, child in value.items() if (*at, key) not in paths}
        left = {key: _drop(child, paths, (*at, key)) for key, child in kept.items()}
        return {key: child for key, child in left.items() if not _emptied(kept[key], child)}
    if is_list(value):
        pairs = [(child, _drop(child, paths, (*at, i))) for i, child in enumerate(value) if (*at, i) not in paths]
        return [after for before, after in pairs if not _emptied(before, after)]
    return value


def _emptied(before: JsonValue, after: JsonValue) -> bool:
    return isinstance(after, dict | list) and not after and bool(before)
